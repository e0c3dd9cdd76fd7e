"""The commands behind a slash that the chat itself has, and which of what is typed is one."""

import re
from typing import NamedTuple

_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)


class Slash(NamedTuple):
    """`given`: what stands behind its name, for people."""

    about: str
    given: str = ""


COMMANDS = {
    "help": Slash("these commands, and the keys"),
    "model": Slash("which model answers; or take another one", "[NAME]"),
    "agent": Slash("which agent this is; or begin anew with another one", "[NAME]"),
    "machine": Slash("where it runs; or move it to another machine", "[NAME]"),
    "compact": Slash("shorten what the model reads of the conversation"),
    "fork": Slash("go on in a copy of the session, from a turn on", "[TURN]"),
    "diff": Slash("what the session has changed in its worktree"),
    "files": Slash("the files that the session made or changed"),
    "cost": Slash("tokens and cost so far"),
    "approvals": Slash("the questions that wait, over all sessions"),
    "export": Slash("save the conversation as Markdown", "[FILE]"),
    "queue": Slash("say something when the turn that runs has ended", "TEXT"),
    "unfold": Slash("show the last folded tool call whole (Ctrl-O)"),
    "quit": Slash("leave; the session stays"),
    "exit": Slash("leave; the session stays"),
}


def command_of(text: str) -> tuple[str, str] | None:
    """Name and rest of a command; None for something to say, such as a path."""
    match = _COMMAND.fullmatch(text.rstrip())
    return None if match is None else (match[1], (match[2] or "").strip())
