"""Helpers for tests of `to_events`: a conversation, and what becomes of an agent's messages."""

import json
from typing import Any

from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.inward import settle, to_events
from trunkline.wire.yeaft.inward_state import Inward

Json = dict[str, Any]
ID = "01a1de68-1870-7ed6-bf7b-0f808277ad3a"
TURN = "01a1de68-1870-7ed6-bf7b-0f808277ad3b"
ENDS = ("execution_complete", "execution_error")


def conversation(dialect: str = "documented", *, turn: str | None = TURN, **bounds: int) -> Inward:
    state = Inward(
        ID,
        "machine-1",
        text_chars_max=bounds.get("text_chars_max", 10_000),
        tools_max=bounds.get("tools_max", 100),
        persons_max=bounds.get("persons_max", 16),
        question_timeout_s=300.0,
    )
    state.dialect = dialect
    if turn is not None:
        state.begin(turn)
    return state


def lines(state: Inward, text: str) -> list[str]:
    return to_events(state, codec.decode(text), text, 1)


def heard(state: Inward, message: Json) -> list[Json]:
    """The events that a message becomes, without its own text."""
    return _shown(lines(state, json.dumps(message)))


def settled(state: Inward) -> list[Json]:
    """The events of a turn that the agent says no more of."""
    return _shown(settle(state, 1))


def _shown(written: list[str]) -> list[Json]:
    made = [json.loads(line) for line in written]
    return [{name: one[name] for name in one if name not in ("raw", "ts")} for one in made]


def output(kind: str = "claude_output", /, **data: Any) -> Json:
    return {"type": kind, "conversationId": ID, "data": data}


def assistant(*blocks: Json, kind: str = "claude_output", **more: Any) -> Json:
    data = {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}
    return {"type": kind, "conversationId": ID, **more, "data": data}


def result(subtype: str = "success", **fields: Any) -> Json:
    return output(type="result", subtype=subtype, **fields)


def message(kind: str, /, **fields: Any) -> Json:
    return {"type": kind, "conversationId": ID, **fields}
