"""A file of lines that outlives whoever writes it."""

import stat
from pathlib import Path

import structlog

from trunkline.execution.ws.disk_queue import Journal


def test_lines_are_read_back_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl")
    journal.append(b"one")
    journal.append(b"two")
    assert Journal(tmp_path / "a.jsonl").read() == [b"one", b"two"]
    journal.close()


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl")
    journal.append(b"one")
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600
    journal.rewrite([b"two"])
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    journal = Journal(path)
    assert journal.read() == [b"one", b"tw"]
    journal.append(b"three")
    assert Journal(path).read() == [b"one", b"tw", b"three"]
    journal.close()


def test_a_rewritten_file_goes_on_being_appended_to(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl")
    for line in (b"one", b"two", b"three"):
        journal.append(line)
    journal.rewrite([b"three"])
    journal.append(b"four")
    assert Journal(tmp_path / "a.jsonl").read() == [b"three", b"four"]
    assert journal.bytes == (tmp_path / "a.jsonl").stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    journal.close()


def test_a_cleared_file_is_empty_and_still_there_for_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl")
    journal.append(b"one")
    journal.clear()
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    journal.append(b"two")
    assert Journal(tmp_path / "a.jsonl").read() == [b"two"]
    journal.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_once_and_stops_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.symlink_to("/dev/full")
    journal = Journal(path)
    with structlog.testing.capture_logs() as logs:
        journal.append(b"one")
        journal.append(b"two")
    assert [entry["log_level"] for entry in logs] == ["error"]
    assert "space" in logs[0]["problem"].lower()
    journal.close()


def test_a_folder_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "gone" / "a.jsonl")
    journal.append(b"one")
    journal.rewrite([b"one"])
    journal.remove()
    assert journal.bytes == 0
