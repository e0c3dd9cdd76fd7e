"""Files that stay whole, whoever dies and whoever else writes."""

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from tests.support.audit import audited
from trunkline.execution.errors import LockBusy
from trunkline.execution.files import append, locked, read_head, read_tail, sweep, write_atomic


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_written_file_is_private_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("a much longer text than the new one")
    write_atomic(path, "new")
    assert path.read_text() == "new"
    assert mode_of(path) == 0o600
    assert names_in(tmp_path) == ["a.json"]


def test_the_mode_that_was_asked_for_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "a.sh", b"", 0o755)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a.sh") == 0o755


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "target"
    (folder / "not-empty").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_atomic(folder, "text")
    assert names_in(tmp_path) == ["target"]


def test_what_a_dead_process_of_the_same_number_left_is_no_hindrance(tmp_path: Path) -> None:
    with audited("open") as opened:
        write_atomic(tmp_path / "b.json", "first")
    (name,) = (Path(one).name for one in opened if str(one).startswith(str(tmp_path)))
    number = int(name.split("-")[-1].removesuffix(".tmp"))
    left = tmp_path / f".a.json.{os.getpid()}-{number + 1}.tmp"
    left.write_text("half of a much longer text")
    write_atomic(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "new"
    assert not left.exists()


def test_a_spare_file_is_written_over_and_gone_from_its_place(tmp_path: Path) -> None:
    spare = tmp_path / "old.json"
    spare.write_text("a much longer text than the new one")
    inode = spare.stat().st_ino
    write_atomic(tmp_path / "a.json", "new", spare=spare)
    assert (tmp_path / "a.json").read_text() == "new"
    assert (tmp_path / "a.json").stat().st_ino == inode
    write_atomic(tmp_path / "b.json", "no spare after all", spare=spare)
    assert names_in(tmp_path) == ["a.json", "b.json"]


def test_a_lone_surrogate_is_written_as_a_question_mark(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", "a\ud800b")
    assert (tmp_path / "a").read_bytes() == b"a?b"


@pytest.mark.proves("004-3.3-atomic")
def test_readers_never_see_a_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    texts = ["x" * 300_000, "y" * 300_000]
    write_atomic(path, texts[0])
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            write_atomic(path, texts[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(path.read_text())
    writer.join()
    assert seen <= set(texts)


def test_appends_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def write(letter: str) -> None:
        for _ in range(100):
            append(path, letter * 20_000 + "\n")

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = path.read_text().splitlines()
    assert sorted(lines) == [letter * 20_000 for letter in "abcd" for _ in range(100)]
    assert mode_of(path) == 0o600


def test_an_append_past_the_bound_is_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert append(path, b"12345", bytes_max=8)
    assert not append(path, b"6789", bytes_max=8)
    assert append(path, b"678", bytes_max=8)
    assert path.read_bytes() == b"12345678"


def test_head_and_tail_are_bounded_and_say_whether_they_are_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert read_head(path, 4) == (b"0123", False)
    assert read_tail(path, 4) == (b"6789", False)
    assert read_head(path, 10) == read_tail(path, 10) == (b"0123456789", True)
    assert read_head(tmp_path / "b", 4) == read_tail(tmp_path / "b", 4) == (b"", True)


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    for name in (".a.json.17-3.tmp", "a.json", "notes.tmp", ".hidden"):
        (tmp_path / name).touch()
    sweep(tmp_path)
    assert names_in(tmp_path) == [".hidden", "a.json", "notes.tmp"]


async def test_a_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []
    most = 0

    async def enter(number: int) -> None:
        nonlocal most
        async with locked(tmp_path / ".lock"):
            inside.append(number)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.remove(number)

    await asyncio.gather(*(enter(number) for number in range(20)))
    assert most == 1


async def test_a_lock_that_is_not_let_go_is_an_error_in_time(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    async with locked(path):
        with pytest.raises(LockBusy, match="another process"):
            async with locked(path, wait_s=0.0):
                pass
    async with locked(path, wait_s=0.0):
        pass


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of somebody else")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for name in ("link", "nothing"):
        assert read_head(tmp_path / name, 100) == (b"", True)
        assert read_tail(tmp_path / name, 100) == (b"", True)
    assert read_head(tmp_path / "link", 2, follows_links=True) == (b"of", False)
    assert read_tail(tmp_path / "secret", 4) == (b"else", False)
