"""What a foreign server has not confirmed: in order, bounded, and still there after a death."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.foreign.unconfirmed import (
    WIRE_OWED_BYTES_MAX,
    WIRE_OWED_MAX,
    Unconfirmed,
)


def unconfirmed(folder: Path, **bounds: int) -> Unconfirmed:
    return Unconfirmed(Journal(folder / "owed.jsonl"), **bounds)


def taken(one: Unconfirmed) -> list[int]:
    found = []
    while (body := one.take()) is not None:
        found.append(int(json.loads(body)["n"]))
    return found


def add(one: Unconfirmed, number: int, *, is_kept: bool = False, ends: str = "") -> None:
    one.add(json.dumps({"n": number}).encode(), is_kept=is_kept, ends=ends)


def test_messages_leave_in_order_and_come_again_until_they_arrived(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path)
    for number in range(4):
        add(box, number)
    assert taken(box) == [0, 1, 2, 3]
    box.arrived(2)
    box.rewind()
    add(box, 4)
    assert taken(box) == [2, 3, 4]
    box.arrived(box.sent_last)
    assert box.is_empty
    assert (tmp_path / "owed.jsonl").read_bytes() == b""


def test_another_process_sends_what_the_last_one_left(tmp_path: Path) -> None:
    first = unconfirmed(tmp_path)
    for number in range(3):
        add(first, number, ends=f"turn-{number}")
    first.take()
    first.arrived(first.sent_last)
    with (tmp_path / "owed.jsonl").open("ab") as file:
        file.write(b'{"seq": 9, "bo')  # its last words
    second = unconfirmed(tmp_path)
    assert second.has_end("turn-2")
    assert not second.has_end("turn-0")
    add(second, 3)
    assert taken(unconfirmed(tmp_path)) == taken(second) == [1, 2, 3]


@pytest.mark.proves("notes-3-agents-buffer")
def test_when_there_is_too_much_the_oldest_that_nobody_waits_for_goes(tmp_path: Path) -> None:
    assert (WIRE_OWED_MAX, WIRE_OWED_BYTES_MAX) == (5_000, 8 * 1024 * 1024)
    box = unconfirmed(tmp_path, count_max=10)
    add(box, 0, is_kept=True)
    for number in range(1, 12):
        add(box, number)
    left = taken(box)
    assert left[0] == 0
    assert left[1:] == list(range(12 - len(left) + 1, 12))
    assert len(left) <= 10
    assert taken(unconfirmed(tmp_path, count_max=10)) == left


def test_what_somebody_waits_for_is_never_dropped(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path, bytes_max=100)
    for number in range(50):
        add(box, number, is_kept=True)
    add(box, 50)
    assert taken(box)[:50] == list(range(50))


def test_it_is_full_when_too_much_waits_that_may_not_be_dropped(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path, count_max=2, kept_max=3)
    for number in range(10):
        add(box, number)
    assert not box.is_full(expected=2)
    assert box.is_full(expected=3)
    for number in range(3):
        add(box, number, is_kept=True)
    assert box.is_full()
    assert unconfirmed(tmp_path, kept_max=3).is_full()
    taken(box)
    box.arrived(box.sent_last)
    assert not box.is_full(expected=2)


def test_it_is_full_when_that_is_too_large(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path, kept_bytes_max=100)
    box.add(b'"' + b"x" * 99 + b'"', is_kept=False)
    assert not box.is_full()
    box.add(b'"' + b"x" * 99 + b'"', is_kept=True)
    assert box.is_full()


def test_the_file_is_written_anew_for_many_messages_and_not_for_each(tmp_path: Path) -> None:
    # Every message above the bound once cost a walk past all the others, and a new file.
    written = 0

    class Counting(Journal):
        def rewrite(self, lines: Iterable[bytes]) -> None:
            nonlocal written
            written += 1
            super().rewrite(lines)

    box = Unconfirmed(Counting(tmp_path / "owed.jsonl"), count_max=100)
    for number in range(200):
        add(box, number, is_kept=True)
    for number in range(1000):
        add(box, number)
    assert written <= 1000 / 25


def test_a_turn_has_its_end_here_until_that_arrived(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path)
    add(box, 0, is_kept=True, ends="turn-0")
    add(box, 1, is_kept=True, ends="turn-1")
    taken(box)
    assert box.has_end("turn-0")
    box.arrived(1)
    assert not box.has_end("turn-0")
    assert box.has_end("turn-1")


def test_an_end_waits_until_it_is_sent_and_again_after_a_break(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path)
    add(box, 0, is_kept=True, ends="turn-0")
    add(box, 1, is_kept=True, ends="turn-1")
    box.take()
    assert box.ends_waiting == {"turn-1"}
    box.rewind()
    assert box.ends_waiting == {"turn-0", "turn-1"}


def test_a_mark_that_was_never_sent_confirms_nothing_that_waits(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path)
    add(box, 0)
    box.arrived(10**18)
    assert taken(box) == [0]
    box.arrived(0)
    assert box.sent_last == 1


def test_the_file_does_not_grow_with_what_has_arrived(tmp_path: Path) -> None:
    box = unconfirmed(tmp_path)
    text = "x" * 10_000
    for _ in range(200):
        box.add(json.dumps(text).encode(), is_kept=False)
        box.add(b"1", is_kept=False)
        box.take()
        box.arrived(box.sent_last)
        box.take()
    box.close()
    assert (tmp_path / "owed.jsonl").stat().st_size < 600_000
