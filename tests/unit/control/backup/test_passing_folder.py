"""What is unpacked to be checked holds keys: it does not stay, whatever becomes of who checks."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.control.backup.conftest import Silent
from trunkline.control.backup import restoring
from trunkline.control.backup.passing_folder import Lock, locked, passing_folder
from trunkline.control.errors import Unavailable

_KILLED = """
import os, signal, sys
from pathlib import Path
from trunkline.control.backup.passing_folder import passing_folder
with passing_folder(Path(sys.argv[1])) as folder:
    (folder / "keys").mkdir()
    (folder / "keys" / "sealing.key").write_text("a key")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def hidden(where: Path) -> list[Path]:
    return sorted(where.glob(".trunkline-verify-*"))


def test_what_a_killed_check_has_left_goes_with_the_next_one(saved: Path) -> None:
    where = saved.parent
    done = subprocess.run([sys.executable, "-c", _KILLED, str(where)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [one.name for one in hidden(where)[0].iterdir()] == ["keys"]
    restoring.verify(saved, progress=Silent())
    assert hidden(where) == []


def test_a_folder_that_is_in_use_stays_and_no_link_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("")
    where = tmp_path / "where"
    where.mkdir()
    (where / ".trunkline-verify-link").symlink_to(elsewhere)
    (where / ".trunkline-verify-file").write_text("")
    with passing_folder(where) as first, passing_folder(where) as second:
        assert first.is_dir()
        assert second.is_dir()
        assert first.stat().st_mode & 0o077 == 0
    assert [one.name for one in hidden(where)] == [
        ".trunkline-verify-file",
        ".trunkline-verify-link",
    ]
    assert (elsewhere / "kept").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / ".trunkline-verify-theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with passing_folder(tmp_path):
        pass
    assert theirs.exists()


def _no_locks(_: Path) -> int | None:
    raise OSError(errno.ENOLCK, "No locks available")


def _taken_by_others(_: Path) -> int | None:
    return None


@pytest.mark.parametrize(
    ("lock", "why"), [(_no_locks, "No locks available"), (_taken_by_others, "others take")]
)
def test_where_no_folder_can_be_locked_that_is_said_and_nobody_tries_for_ever(
    tmp_path: Path, lock: Lock, why: str
) -> None:
    with (
        pytest.raises(Unavailable, match=f"no folder can be locked in .*: {why}"),
        passing_folder(tmp_path, lock),
    ):
        raise AssertionError("there is no folder")
    if lock is _no_locks:
        assert hidden(tmp_path) == []


def test_a_folder_that_another_takes_for_one_that_was_left_is_made_anew(tmp_path: Path) -> None:
    removed: list[Path] = []

    def lock(folder: Path) -> int | None:
        if len(removed) < 2:  # as one that starts at the same moment would
            folder.rmdir()
            removed.append(folder)
        return locked(folder)

    with passing_folder(tmp_path, lock) as folder:
        assert folder.is_dir()
        assert folder not in removed
    assert hidden(tmp_path) == []
