"""Events held for a moment: joined within a session, never across, never out of order."""

import json

from tests.support.clock import Clock
from tests.unit.execution.ws.machine import event, text
from trunkline import limits
from trunkline.execution.ws.coalescer import Coalescer


def drained(coalescer: Coalescer) -> list[tuple[str, str]]:
    found = []
    for session_id, one in coalescer.drain():
        fields = json.loads(one.text)
        found.append((session_id, fields.get("content", fields["type"])))
    return found


def test_text_of_one_turn_is_joined_and_order_within_a_session_is_kept() -> None:
    coalescer = Coalescer(Clock())
    coalescer.add("s-1", text("a"))
    coalescer.add("s-2", text("x"))
    coalescer.add("s-1", text("b"))
    coalescer.add("s-1", event("tool_call_start"))
    coalescer.add("s-1", text("c"))
    coalescer.add("s-2", text("y", turn_id="t-2"))
    assert drained(coalescer) == [
        ("s-1", "ab"),
        ("s-1", "tool_call_start"),
        ("s-1", "c"),
        ("s-2", "x"),
        ("s-2", "y"),
    ]
    assert not coalescer
    assert drained(coalescer) == []


def is_urgent_after(coalescer: Coalescer, content: str) -> bool:
    """Whether one more event of the session cannot wait; afterwards nothing is held."""
    coalescer.add("s-1", text(content))
    urgent = coalescer.is_urgent
    coalescer.drain()
    return urgent


def test_only_a_session_that_was_quiet_is_urgent() -> None:
    clock = Clock()
    coalescer = Coalescer(clock)
    assert is_urgent_after(coalescer, "a")
    assert not is_urgent_after(coalescer, "b")
    clock.now += limits.SESSION_QUIET_S * 2
    assert is_urgent_after(coalescer, "c")


def test_a_session_that_ended_is_not_remembered() -> None:
    coalescer = Coalescer(Clock())
    assert is_urgent_after(coalescer, "a")
    coalescer.forget("s-1")
    assert is_urgent_after(coalescer, "b")
