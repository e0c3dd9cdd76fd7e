"""What a machine owes: numbered, in order, until it is acknowledged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from tests.unit.execution.ws.machine import event, text
from trunkline import limits
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.outbox import OUTBOX_EARLY_EVENTS_MAX, Outbox
from trunkline.execution.ws.session_queue import Outgoing


def ready(folder: Path, acked: dict[str, int] | None = None) -> Outbox:
    """An outbox whose line is up."""
    outbox = Outbox(folder)
    outbox.line_up(acked or {})
    return outbox


def put(outbox: Outbox, *events: str, session_id: str = "s-1") -> None:
    for one in events:
        outbox.append(session_id, Event(one))


def take(outbox: Outbox, count: int = 10_000) -> list[tuple[int, str]]:
    """Numbers and contents of what is sent next."""
    return [(one.seq, content(one)) for one in outbox.take(count, limits.BATCH_BYTES_MAX)]


def content(sent: Outgoing) -> str:
    return str(json.loads(sent.data).get("content", json.loads(sent.data)["type"]))


def apart(*contents: str) -> list[str]:
    """Texts that are not joined: each belongs to a turn of its own."""
    return [text(one, turn_id=f"t-{one}") for one in contents]


def test_events_are_numbered_from_where_the_control_plane_is(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    outbox.open_session("s-1", acked=41)
    put(outbox, *apart("a", "b"))
    assert take(outbox) == [(42, "a"), (43, "b")]


def test_a_session_that_says_nothing_of_its_numbers_starts_with_one(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a"))
    assert take(outbox) == [(1, "a")]


def test_an_event_is_taken_once_and_owed_until_it_is_acknowledged(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a", "b", "c"))
    assert take(outbox) == [(1, "a"), (2, "b"), (3, "c")]
    assert take(outbox) == []
    outbox.acked({"s-1": 2})
    outbox.line_up({})
    assert take(outbox) == [(3, "c")]
    outbox.acked({"s-1": 3})
    outbox.line_up({})
    assert take(outbox) == []
    assert outbox.bytes == 0


def test_a_new_line_starts_after_what_its_init_acknowledges(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a", "b", "c"))
    take(outbox)
    put(outbox, *apart("d"))
    outbox.line_up({"s-1": 1})
    assert take(outbox) == [(2, "b"), (3, "c"), (4, "d")]


def test_an_acknowledgement_of_what_is_not_owed_is_harmless(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    outbox.acked({"s-9": 5})
    put(outbox, *apart("a"))
    outbox.acked({"s-1": 10**15})
    assert take(outbox) == []
    put(outbox, *apart("b"))
    assert take(outbox) == [(10**15 + 1, "b")]


def test_text_that_was_not_sent_yet_grows_and_keeps_its_number(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, text("a"), text("b"), event("usage"), text("c"), text("d"))
    assert take(outbox) == [(1, "ab"), (2, "usage"), (3, "cd")]


def test_text_that_may_have_arrived_is_never_changed(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, text("a"))
    take(outbox)
    outbox.line_up({})
    put(outbox, text("b"))
    assert take(outbox) == [(1, "a"), (2, "b")]


def test_sessions_take_turns_and_each_keeps_its_order(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a", "b"), session_id="s-1")
    put(outbox, *apart("c", "d"), session_id="s-2")
    sent = [outbox.take(1, limits.BATCH_BYTES_MAX)[0] for _ in range(4)]
    assert [(one.session_id, one.seq) for one in sent] == [
        ("s-1", 1),
        ("s-2", 1),
        ("s-1", 2),
        ("s-2", 2),
    ]
    assert not outbox.has_waiting


def test_a_batch_is_bounded_in_events_and_bytes_and_never_empty(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *[event("usage", n=number) for number in range(10)])
    assert len(outbox.take(4, limits.BATCH_BYTES_MAX)) == 4
    assert len(outbox.take(100, 1)) == 1
    assert len(outbox.take(100, 200)) < 5


def test_what_an_earlier_process_left_is_sent_with_its_numbers(tmp_path: Path) -> None:
    first = ready(tmp_path)
    first.open_session("s-1", acked=7)
    put(first, text("a"), text("b"), *apart("c"))
    first.close()
    again = ready(tmp_path, {"s-1": 7})
    put(again, text("d", turn_id="t-c"))
    assert take(again) == [(8, "ab"), (9, "c"), (10, "d")]


def test_numbers_go_on_after_a_restart_with_nothing_owed(tmp_path: Path) -> None:
    first = ready(tmp_path)
    put(first, *apart("a", "b"))
    take(first)
    first.acked({"s-1": 2})
    first.close()
    again = ready(tmp_path, {"s-1": 2})
    put(again, *apart("c"))
    assert take(again) == [(3, "c")]


def test_events_before_the_first_init_wait_for_their_numbers(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    put(outbox, *apart("a"))
    assert take(outbox) == []
    outbox.line_up({"s-1": 50})
    assert take(outbox) == [(51, "a")]


def test_events_before_the_first_init_are_bounded(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    put(outbox, *[event("usage")] * (OUTBOX_EARLY_EVENTS_MAX + 5))
    outbox.line_up({})
    assert len(take(outbox)) == OUTBOX_EARLY_EVENTS_MAX


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data + b'{"seq":4,"data":"{\\"type',
        lambda data: data + b"\x00\xff\xfe\n",
        lambda data: b"[]\n" + data,
        lambda data: data.replace(b'{"seq":1', b'{"sea":1').replace(b"t-a", b"t-\xff") + b"\n\n",
        lambda data: data + b'{"seq":"x"}\n{"seq":-5,"data":"{}"}\n' + b"[" * 5000 + b"\n",
    ],
)
def test_a_damaged_file_costs_only_what_is_damaged(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    first = ready(tmp_path)
    put(first, *apart("a", "b", "c"))
    first.close()
    path = tmp_path / "events" / "s-1.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    again = ready(tmp_path)
    put(again, *apart("d"))
    assert take(again)[-3:] == [(2, "b"), (3, "c"), (4, "d")]
    again.close()
    assert [seq for seq, _ in take(ready(tmp_path))][-3:] == [2, 3, 4]


def test_a_session_that_ended_leaves_no_file_once_all_is_safe(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a"))
    take(outbox)
    outbox.close_session("s-1")
    assert len(list((tmp_path / "events").iterdir())) == 1
    outbox.acked({"s-1": 1})
    assert list((tmp_path / "events").iterdir()) == []
    put(outbox, *apart("b"))
    assert take(outbox) == [(2, "b")]


def test_a_long_session_does_not_grow_its_file_for_ever(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    path = tmp_path / "events" / "s-1.jsonl"
    largest = 0
    for number in range(1, 400):
        put(outbox, event("usage", text="x" * 10_000))
        take(outbox)
        outbox.acked({"s-1": number - 3})
        largest = max(largest, path.stat().st_size)
    assert largest < 2 * limits.OUTBOX_COMPACT_BYTES
    outbox.close()
    assert [seq for seq, _ in take(ready(tmp_path))][-3:] == [397, 398, 399]


def test_without_acknowledgements_what_was_delivered_is_not_sent_again(tmp_path: Path) -> None:
    first = ready(tmp_path)
    put(first, *apart("a", "b", "c"))
    first.delivered(first.take(2, limits.BATCH_BYTES_MAX))
    first.close()
    second = ready(tmp_path)
    sent = second.take(9, limits.BATCH_BYTES_MAX)
    assert [content(one) for one in sent] == ["c"]
    second.delivered(sent)
    assert take(ready(tmp_path)) == []


def test_a_session_that_the_control_plane_does_not_know_is_forgotten(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, *apart("a"))
    outbox.forget_session("s-1")
    outbox.forget_session("s-9")
    assert take(outbox) == []
    assert outbox.bytes == 0
    assert list((tmp_path / "events").iterdir()) == []


def test_turns_whose_end_is_not_safe_yet_are_named(tmp_path: Path) -> None:
    outbox = ready(tmp_path)
    put(outbox, text("a"), event("execution_complete", turn_id="t-1"))
    take(outbox)
    put(outbox, event("execution_error", turn_id="t-2"))
    assert outbox.turns() == {"t-1", "t-2"}
    outbox.acked({"s-1": 2})
    assert outbox.turns() == {"t-2"}


@pytest.mark.parametrize("session_id", ["", "../up", "a/b", ".hidden", "x" * 101, "a\nb", "a\x00"])
def test_a_session_id_that_is_no_name_writes_no_file(tmp_path: Path, session_id: str) -> None:
    outbox = ready(tmp_path / "out", {session_id: 3})
    with pytest.raises(ValueError, match="not a session id"):
        outbox.open_session(session_id)
    with structlog.testing.capture_logs() as logs:
        put(outbox, *apart("a"), session_id=session_id)
    assert logs[0]["log_level"] == "error"
    assert take(outbox) == []
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "events"]


def test_what_somebody_else_put_into_the_folder_is_left_alone_and_said(tmp_path: Path) -> None:
    put(ready(tmp_path), *apart("a"))
    events = tmp_path / "events"
    (events / "copy of s-1 (2).jsonl").write_text("{}")
    (events / "folder.jsonl").mkdir()
    with structlog.testing.capture_logs() as logs:
        outbox = ready(tmp_path)
    assert take(outbox) == [(1, "a")]
    assert sorted(entry["file"] for entry in logs) == ["copy of s-1 (2).jsonl", "folder.jsonl"]
    outbox.close()
    assert (events / "copy of s-1 (2).jsonl").exists()
    assert (events / "folder.jsonl").is_dir()
