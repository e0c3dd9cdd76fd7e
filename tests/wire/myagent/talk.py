"""Translating whole stories: events in, messages out, with what the tests need to look at them."""

import json
from typing import Any

from trunkline.wire.myagent.outward import from_events
from trunkline.wire.myagent.outward_state import Outward

SESSION = "01a1de65-9dbe-7a01-b850-b54788f601e3"
NOW_MS = 1_800_000_000_000
Json = dict[str, Any]


def outward(**options: Any) -> Outward:
    given = {"confirm_timeout_s": 300.0, "text_chars_max": 1000, **options}
    return Outward(SESSION, lambda: NOW_MS, **given)


def shown(*events: Json, state: Outward | None = None, first_id: int = 1) -> list[Json]:
    """The messages that these events become, one after the other."""
    state = state or outward()
    return [
        json.loads(body)
        for event_id, event in enumerate(events, first_id)
        for body in from_events(state, event_id, json.dumps(event))
    ]


def names(messages: list[Json]) -> list[str]:
    return [message["event"] for message in messages]


SAID: Json = {"type": "user_message", "content": "hi", "turn_id": "t1", "ts": NOW_MS}
END: Json = {"type": "execution_complete", "content": "done", "turn_id": "t1", "ts": NOW_MS + 900}
