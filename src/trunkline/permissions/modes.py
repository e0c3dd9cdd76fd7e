"""How much a session asks where no rule says it: its mode, or the older `confirm`."""

from typing import Literal, get_args

Mode = Literal["free", "accept_edits", "ask", "plan"]
"""`plan`: only reads. `ask`: what can change or reveal something is asked about. `accept_edits`:
changes of files in the workspace are not. `free`: nothing is, inside a fence."""
Confirm = Literal["never", "dangerous", "always"]
Care = Literal["nothing", "commands", "dangerous", "everything", "plan"]
"""What is asked about, or refused; least first."""

FREE_NEEDS_A_FENCE = "the mode `free` holds inside a fence only, and this session has none: I ask"

_OF_CONFIRM: dict[str, Care] = {
    "never": "nothing",
    "dangerous": "dangerous",
    "always": "everything",
}


def care_of(mode: Mode | None, confirm: Confirm, *, fenced: bool) -> Care:
    match mode:
        case None:
            return _OF_CONFIRM[confirm]
        case "plan":
            return "plan"
        case "accept_edits":
            return "commands"
        case "free" if fenced:
            return "nothing"
        case _:
            return "dangerous"


def asks_at_least(care: Care, *, ruled: bool) -> Confirm:
    """What a program of others is told, which asks us about what it wants to do. `ruled`: there
    are rules, which hold only for what it asks about."""
    match care:
        case "nothing":
            return "dangerous" if ruled else "never"
        case "everything":
            return "always"
        case _:
            return "dangerous"


def more_careful(one: Care, other: Care) -> Care:
    return max(one, other, key=get_args(Care).index)
