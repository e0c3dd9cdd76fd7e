"""Questions of an ACP agent before it does something, and which of its own options was meant.

Pure: the options as people see them, and the option that an answer chooses.
"""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.calls import OWN_ARGUMENTS, Call
from trunkline.execution.runtimes.acp.content import items, name_of, obj, text
from trunkline.execution.runtimes.hosted.turn import Permission

OPTIONS_MAX = 20
# Kinds in the order in which they are tried, by answer and by whether it is meant for good.
_WANTED = {
    (True, False): ("allow_once",),
    (True, True): ("allow_always", "allow_once"),
    (False, False): ("reject_once", "reject_always"),
    (False, True): ("reject_always", "reject_once"),
}
CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


class Option(msgspec.Struct, frozen=True):
    id: str
    kind: str
    name: str


# For an agent that asks and names no options.
_UNNAMED = (
    Option("allow_once", "allow_once", "Allow once"),
    Option("reject_once", "reject_once", "Reject"),
)


def read_options(given: Any) -> list[Option]:
    """What the agent offers, in its order; each name once, so that a person's word is clear. One
    whose id is beyond all bounds cannot be chosen: its half would be another."""
    found: dict[str, Option] = {}
    is_left_out = False
    for one in items(given)[:OPTIONS_MAX]:
        fields = obj(one)
        named = fields.get("optionId", fields.get("id"))
        option_id = name_of(named, limits.ID_CHARS_MAX)
        is_left_out = is_left_out or (isinstance(named, str) and named != option_id)
        kind = text(fields.get("kind"), 40)
        name = text(fields.get("name", fields.get("label")), limits.NAME_CHARS_MAX)
        name = name or text(option_id)
        if option_id and name not in found:
            found[name] = Option(option_id, kind, name)
    return list(found.values()) if found or is_left_out else list(_UNNAMED)


def chosen(options: list[Option], permission: Permission) -> Json:
    """The answer to the agent. A no is never turned into a yes by the name that came with it, nor
    a yes kept that names an option which says no. What becomes a rule of ours is not allowed for
    good besides. Where the agent offers nothing that fits, it is told that nobody chose."""
    named = _named(options, permission)
    if named is not None and permission.becomes_rule and named.kind == "allow_always":
        named = None
    allowed = permission.allowed and not (named is not None and _rejects(named))
    if named is not None and _rejects(named) != allowed:
        return _selected(named)
    for kind in _WANTED[allowed, permission.scope != "once"]:
        for one in options:
            if one.kind == kind:
                return _selected(one)
    return CANCELLED


def is_ours_to_remember(options: list[Option], permission: Permission) -> bool:
    """Whether it is a yes for longer that we can keep: the agent is told yes for this once and asks
    again, so that later rules reach it. One of its own options that was named stays what it is."""
    if not permission.allowed or permission.scope == "once":
        return False
    named = _named(options, permission)
    offered = options if named is None else [named]
    return any(one.kind == "allow_once" for one in offered)


def same_by(call: Call) -> Json:
    """What two calls have in common that are the same: all that people are shown, but for what a
    model calls a command this time. Empty where nothing is shown that tells calls apart."""
    shown = shown_input(call, titled=not call.input.get("command"))
    return shown if set(shown) - OWN_ARGUMENTS else {}


def shown_input(call: Call, *, titled: bool = True) -> Json:
    """All that will be done, for a person: the arguments, and the changes to files. Some agents
    say it in the title alone, in many lines. Nothing takes the place of an argument."""
    shown = dict(call.input)
    more = {
        "title": call.whole_title if titled else "",
        "diffs": call.shows.diffs,
        "text": call.shows.text,
        "locations": call.locations,
    }
    for name, value in more.items():
        if value and shown.get(name) != value:
            shown[f"{name} (told)" if name in shown else name] = value
    return shown


def _named(options: list[Option], permission: Permission) -> Option | None:
    return next((one for one in options if one.name == permission.option), None)


def _rejects(option: Option) -> bool:
    return option.kind.startswith("reject")


def _selected(option: Option) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option.id}}
