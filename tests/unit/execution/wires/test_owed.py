"""What a foreign server is owed: in order, bounded, and still there after a death."""

import json
from pathlib import Path

from trunkline.execution.wires.owed import Owed
from trunkline.execution.ws.journal import Journal


def owed(folder: Path, **bounds: int) -> Owed:
    return Owed(Journal(folder / "owed.jsonl"), **bounds)


def taken(one: Owed) -> list[int]:
    found = []
    while (body := one.take()) is not None:
        found.append(int(json.loads(body)["n"]))
    return found


def add(one: Owed, number: int, *, is_kept: bool = False, ends: str = "") -> None:
    one.add(json.dumps({"n": number}).encode(), is_kept=is_kept, ends=ends)


def test_messages_leave_in_order_and_come_again_until_they_arrived(tmp_path: Path) -> None:
    box = owed(tmp_path)
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


def test_another_process_owes_what_the_last_one_did(tmp_path: Path) -> None:
    first = owed(tmp_path)
    for number in range(3):
        add(first, number, ends=f"turn-{number}")
    first.take()
    first.arrived(first.sent_last)
    with (tmp_path / "owed.jsonl").open("ab") as file:
        file.write(b'{"seq": 9, "bo')  # its last words
    second = owed(tmp_path)
    assert second.has_end("turn-2")
    assert not second.has_end("turn-0")
    add(second, 3)
    assert taken(owed(tmp_path)) == taken(second) == [1, 2, 3]


def test_when_there_is_too_much_the_oldest_that_nobody_waits_for_goes(tmp_path: Path) -> None:
    box = owed(tmp_path, count_max=10)
    add(box, 0, is_kept=True)
    for number in range(1, 12):
        add(box, number)
    left = taken(box)
    assert left[0] == 0
    assert left[1:] == list(range(12 - len(left) + 1, 12))
    assert len(left) <= 10
    assert taken(owed(tmp_path, count_max=10)) == left


def test_what_somebody_waits_for_is_never_dropped(tmp_path: Path) -> None:
    box = owed(tmp_path, bytes_max=100)
    for number in range(50):
        add(box, number, is_kept=True)
    add(box, 50)
    assert taken(box)[:50] == list(range(50))


def test_a_mark_that_was_never_sent_confirms_nothing_that_waits(tmp_path: Path) -> None:
    box = owed(tmp_path)
    add(box, 0)
    box.arrived(10**18)
    assert taken(box) == [0]
    box.arrived(0)
    assert box.sent_last == 1


def test_the_file_does_not_grow_with_what_has_arrived(tmp_path: Path) -> None:
    box = owed(tmp_path)
    text = "x" * 10_000
    for _ in range(200):
        box.add(json.dumps(text).encode())
        box.add(b"1")
        box.take()
        box.arrived(box.sent_last)
        box.take()
    box.close()
    assert (tmp_path / "owed.jsonl").stat().st_size < 600_000
