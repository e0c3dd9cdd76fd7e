"""Events as a machine would send them, and a terminal that reads them."""

from typing import Any

from trunkline.cli.chat.render.transcript import Transcript
from trunkline.client import Event

ALICE, BOB = {"id": "p-1", "name": "alice"}, {"id": "p-2", "name": "bob"}
Data = dict[str, Any]


class Reader:
    """A terminal of 60 columns. Each event comes a tenth of a second after the one before it."""

    def __init__(self, width: int = 60) -> None:
        self.now = 0.0
        self.transcript = Transcript(width=lambda: width, colours=False, clock=lambda: self.now)

    def __call__(self, *events: Data) -> str:
        shown = ""
        for event in events:
            self.now += 0.1
            data = {"turn_id": "t", "ts": round(self.now * 1000), **event}
            shown += self.transcript.feed(Event(1, data))
        return shown


def says(text: str, **fields: Any) -> Data:
    return {"type": "text_chunk", "content": text, **fields}


def call(name: str = "bash", **fields: Any) -> Data:
    given = {"command": "ls -la"} if name == "bash" else {}
    return {"type": "tool_call_start", "tool_name": name, "tool_input": given, **fields}


def result(name: str = "bash", text: str = "", **fields: Any) -> Data:
    return {"type": "tool_call_complete", "tool_name": name, "result": text, **fields}


def thinks(text: str, **fields: Any) -> Data:
    return {"type": "thinking", "content": text, **fields}


def user(text: str, **fields: Any) -> Data:
    return {"type": "user_message", "content": text, **fields}


def status(**fields: Any) -> Data:
    return {"type": "session_status", **fields}


def plan(*states: str) -> Data:
    titles = ("Read", "Write", "Test")
    tasks = [{"title": one, "status": state} for one, state in zip(titles, states, strict=False)]
    return {"type": "plan", "plan": {"tasks": tasks}}


DONE: Data = {"type": "execution_complete", "content": ""}
CUT: Data = {"type": "execution_complete", "cancelled": True}
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
CHANGED: Data = {"type": "file_changed", "path": "x.py", "change": "modified", "diff": DIFF}
