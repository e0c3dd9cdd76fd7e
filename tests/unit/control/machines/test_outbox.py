"""What waits for a machine takes a bounded amount of memory, however it is cut into messages."""

from typing import Any

import pytest

from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.machines.commands import Cancel, Command, Configure, Forward, Say, Start
from trunkline.control.machines.outbox import Outbox, size_of

KIB = 1024


def _say(turn_id: str = "t", session_id: str = "s", **metadata: Any) -> Say:
    return Say(session_id, turn_id, "hello", [], metadata)


@pytest.mark.parametrize(
    "command",
    [
        _say(attachments=[{"name": "a", "mime": "b", "base64": "x" * 64 * KIB}]),
        _say(yeaft={"pad": ["x" * 32 * KIB, "y" * 32 * KIB]}),
        _say(yeaft={"x" * 64 * KIB: 1}),
        Say("s", "t", "x" * 64 * KIB, [], {}),
        Say("s", "t", "hi", [{"role": "user", "content": "x" * 64 * KIB}], {}),
        Forward("s", "yeaft", "x" * 64 * KIB),
        Configure("s", {"a": "x" * 64 * KIB}),
        Start("s", "r", {"a": "x" * 64 * KIB}, [], [], [], {}),
    ],
)
def test_a_command_counts_with_all_that_it_holds(command: Command) -> None:
    assert 64 * KIB <= size_of(command) < 68 * KIB


def test_deep_metadata_is_measured_too() -> None:
    deep: Any = "x" * KIB
    for _ in range(50_000):
        deep = [deep]
    assert size_of(deep) > 50_000 + KIB


def test_what_goes_out_or_is_taken_back_makes_room_again() -> None:
    outbox = Outbox()
    for number in range(3):
        outbox.append(_say(f"t{number}", f"s{number}", pad="x" * KIB))
    assert outbox.size > 3 * KIB
    outbox.popleft()
    assert outbox.drop(lambda one: one.session_id == "s1") == 1
    assert [one.session_id for one in outbox] == ["s2"]
    assert outbox.size == size_of(_say("t2", "s2", pad="x" * KIB))
    outbox.clear()
    assert (outbox.size, len(outbox), outbox.first) == (0, 0, None)


def test_what_waits_together_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HELD_BYTES_MAX", 64 * KIB)
    outbox = Outbox()
    large = Forward("s", "yeaft", "x" * 30 * KIB)
    for _ in range(2):
        outbox.check(large)
        outbox.append(large)
    with pytest.raises(LimitReached) as refused:
        outbox.check(large)
    assert refused.value.code == "MACHINE_BUSY"
    outbox.check(Cancel("s", "user_cancelled"))
    outbox.popleft()
    outbox.check(large)


def test_what_is_passed_on_leaves_room_for_what_people_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "HELD_FORWARDS_MAX", 2)
    outbox = Outbox()
    for _ in range(2):
        outbox.append(Forward("s", "yeaft", "{}"))
    with pytest.raises(LimitReached) as refused:
        outbox.check(Forward("s", "yeaft", "{}"))
    assert refused.value.code == "MACHINE_BUSY"
    outbox.check(_say())
