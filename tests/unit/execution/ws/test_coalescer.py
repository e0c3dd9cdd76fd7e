"""Events held for a moment: joined within a session, never across, never out of order."""

import json

from tests.support.clock import Clock
from tests.support.eventually import until
from tests.unit.execution.ws.machine import event, text
from trunkline.execution.ws.events import SESSION_QUIET_S, Coalescer, Event


class Delivered(list[tuple[str, str]]):
    """What a coalescer gave out, by session."""

    def __call__(self, session_id: str, one: Event) -> None:
        fields = json.loads(one.text)
        self.append((session_id, fields.get("content", fields["type"])))


async def test_text_of_one_turn_is_joined_and_order_within_a_session_is_kept() -> None:
    delivered = Delivered()
    coalescer = Coalescer(Clock(), delivered)
    coalescer.add("s-1", text("a"))
    coalescer.add("s-2", text("x"))
    coalescer.add("s-1", text("b"))
    coalescer.add("s-1", event("tool_call_start"))
    coalescer.add("s-1", text("c"))
    coalescer.add("s-2", text("y", turn_id="t-2"))
    coalescer.spill()
    assert delivered == [
        ("s-1", "ab"),
        ("s-1", "tool_call_start"),
        ("s-1", "c"),
        ("s-2", "x"),
        ("s-2", "y"),
    ]
    assert not coalescer
    coalescer.spill()
    assert len(delivered) == 5


def is_urgent_after(coalescer: Coalescer, content: str) -> bool:
    """Whether one more event of the session cannot wait; afterwards nothing is held."""
    coalescer.add("s-1", text(content))
    urgent = coalescer.is_urgent
    coalescer.spill()
    return urgent


async def test_only_a_session_that_was_quiet_is_urgent() -> None:
    clock = Clock()
    coalescer = Coalescer(clock, Delivered())
    assert is_urgent_after(coalescer, "a")
    assert not is_urgent_after(coalescer, "b")
    clock.now += SESSION_QUIET_S * 2
    assert is_urgent_after(coalescer, "c")


async def test_the_first_words_of_a_turn_are_urgent_behind_what_is_none() -> None:
    """Nor does what only programs read make a session that speaks a quiet one."""
    coalescer = Coalescer(Clock(), Delivered())
    coalescer.add("s-1", event("foreign"))
    coalescer.spill()
    coalescer.add("s-1", event("foreign"))
    assert not coalescer.is_urgent
    assert is_urgent_after(coalescer, "a")
    assert not is_urgent_after(coalescer, "b")
    coalescer.add("s-1", event("execution_complete", turn_id="t-1"))
    coalescer.spill()
    assert is_urgent_after(coalescer, "c")


async def test_a_session_that_ended_is_not_remembered() -> None:
    coalescer = Coalescer(Clock(), Delivered())
    assert is_urgent_after(coalescer, "a")
    coalescer.forget("s-1")
    assert is_urgent_after(coalescer, "b")


async def test_what_is_held_is_delivered_after_a_moment_without_being_asked() -> None:
    delivered = Delivered()
    Coalescer(Clock(), delivered).add("s-1", text("a"))
    assert await until(lambda: delivered) == [("s-1", "a")]
