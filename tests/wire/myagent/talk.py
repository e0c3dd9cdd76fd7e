"""Translating whole stories: events in, messages out, with what the tests need to look at them."""

import json
from typing import Any

from trunkline.wire.myagent.outward import from_events
from trunkline.wire.myagent.outward_state import Outward
from trunkline.wire.myagent.pieces import Block, Piece

SESSION = "01a1de65-9dbe-7a01-b850-b54788f601e3"
NOW_MS = 1_800_000_000_000
Json = dict[str, Any]


def outward(**options: Any) -> Outward:
    given = {"confirm_timeout_s": 300.0, "text_chars_max": 1000, **options}
    return Outward(SESSION, lambda: NOW_MS, **given)


def messages_of(state: Outward, event_id: int, line: str) -> list[Json]:
    """The messages that one event becomes, each piece of an answer as one of its own."""
    return [json.loads(body_of(event_id, one)) for one in from_events(state, event_id, line)]


def body_of(event_id: int, made: bytes | Piece) -> bytes:
    if isinstance(made, bytes):
        return made
    block = Block(event_id)
    block.add(event_id, made)
    (body,) = block.encoded(SESSION)
    return body


def shown(*events: Json, state: Outward | None = None, first_id: int = 1) -> list[Json]:
    """The messages that these events become, one after the other, without those that only say
    that a turn runs."""
    told = all_shown(*events, state=state, first_id=first_id)
    return [one for one in told if not says_busy(one)]


def all_shown(*events: Json, state: Outward | None = None, first_id: int = 1) -> list[Json]:
    state = state or outward()
    return [
        message
        for event_id, event in enumerate(events, first_id)
        for message in messages_of(state, event_id, json.dumps(event))
    ]


def says_busy(message: Json) -> bool:
    return bool(message["metadata"].get("stage") == "turn")


def names(messages: list[Json]) -> list[str]:
    return [message["event"] for message in messages]


SAID: Json = {"type": "user_message", "content": "hi", "turn_id": "t1", "ts": NOW_MS}
END: Json = {"type": "execution_complete", "content": "done", "turn_id": "t1", "ts": NOW_MS + 900}
