"""Found open: with a wide umask, or a folder that was there before, other users of the host could
read databases, keys and the agents' files.

Whatever umask and earlier starts say, they are closed at the start, with a warning; where that
cannot be done, there is no start.
"""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support import small_disk
from trunkline.control import data_folder
from trunkline.control.access.keys import admin_token
from trunkline.control.core import Core
from trunkline.control.errors import Unavailable
from trunkline.control.settings import Settings
from trunkline.execution.home import Home
from trunkline.private_files import NotPrivate

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """What anybody but its user may do something with, by path."""
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}
    return {
        path.relative_to(folder).as_posix(): oct(mode)
        for path, mode in found.items()
        if mode & 0o077 and not path.is_symlink()
    }


async def started(settings: Settings) -> None:
    core = await Core.open(settings, admin_token(settings))
    try:
        await core.auth.load_first_user()  # so that the write-ahead logs are there
        core.presence.announce("http://127.0.0.1:1")
        assert (settings.data_dir / "trunkline.db-wal").exists()
        assert open_to_others(settings.data_dir) == {}
    finally:
        await core.close()


async def test_a_first_start_leaves_nothing_open(tmp_path: Path) -> None:
    await started(Settings(data=str(tmp_path / "data")))


def test_folders_are_made_private_and_not_closed_a_moment_later(tmp_path: Path) -> None:
    with capture_logs() as logs:
        data_folder.prepare(Settings(data=str(tmp_path / "above" / "data")))
    assert open_to_others(tmp_path / "above") == {}
    assert logs == [], "nothing had to be mended"


async def test_what_an_earlier_start_left_open_is_closed_with_a_warning(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path / "data"))
    await started(settings)
    (settings.data_dir / "vms").mkdir()
    for path in (settings.data_dir, *settings.data_dir.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with capture_logs() as logs:
        await started(settings)
    warned = {Path(one["path"]).name for one in logs if one["log_level"] == "warning"}
    assert warned >= {"data", "trunkline.db", "log.db", "admin-token", "keys", "sealing.key", "vms"}


async def test_a_database_elsewhere_is_closed_too(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.db"
    file.touch(mode=0o644)
    core = await Core.open(
        Settings(data=str(tmp_path / "data"), database_url=f"sqlite+aiosqlite:///{file}"), "x" * 20
    )
    await core.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_the_keys_are_closed_wherever_they_are(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path / "data"), keys=str(tmp_path / "keys"))
    await started(settings)
    (tmp_path / "keys" / "sealing.key").chmod(0o644)
    await started(settings)
    assert open_to_others(tmp_path / "keys") == {}


async def test_so_are_keys_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "keys.pem"
    settings = Settings(data=str(tmp_path / "data"), keys=str(file))
    await started(settings)
    file.chmod(0o644)
    await started(settings)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not (tmp_path / "data" / "keys").exists()


_START_BESIDE_A_SECRET = """
import asyncio, os, subprocess, sys
from pathlib import Path
from trunkline.control.core import Core
from trunkline.control.errors import Unavailable
from trunkline.control.settings import Settings

data, secret, keys, mode = sys.argv[1:]
Path(secret, "keys").write_bytes(Path(keys).read_bytes())
os.chmod(Path(secret, "keys"), int(mode, 8))
subprocess.run(["mount", "-o", "remount,ro", secret], check=True)

async def start():
    core = await Core.open(Settings(data=data, keys=str(Path(secret, "keys"))), "x" * 20)
    await core.close()

try:
    asyncio.run(start())
except Unavailable as error:
    print(error.code)
else:
    print("started")
"""


@pytest.mark.parametrize(
    ("mode", "said"),
    [("0440", "started"), ("0400", "started"), ("0444", "NOT_PRIVATE"), ("0460", "NOT_PRIVATE")],
)
async def test_keys_that_a_cluster_mounts_for_the_servers_group_are_taken_and_no_others(
    tmp_path: Path, mode: str, said: str
) -> None:
    """Read-only, so that they cannot be closed any further."""
    small_disk.needed()
    await started(Settings(data=str(tmp_path / "first"), keys=str(tmp_path / "made.pem")))
    (tmp_path / "secret").mkdir()
    places = (tmp_path / "data", tmp_path / "secret", tmp_path / "made.pem")
    program = (sys.executable, "-c", _START_BESIDE_A_SECRET, *map(str, places), mode)
    command = small_disk.command(tmp_path / "secret", "1m", *program)
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1:] == [said], ran.stderr


def another_users(tmp_path: Path) -> Path:
    """A folder that cannot be closed."""
    if os.geteuid() != 0:
        return Path("/")
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    return folder


async def test_a_folder_that_cannot_be_closed_is_refused(tmp_path: Path) -> None:
    settings = Settings(data=str(another_users(tmp_path)))
    with pytest.raises(Unavailable, match=r"another user|open to other users") as caught:
        await asyncio.to_thread(data_folder.prepare, settings)
    assert caught.value.code == "NOT_PRIVATE"


def test_a_machines_home_is_closed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    assert open_to_others(home.root) == {}
    for path in (home.root, *home.root.rglob("*")):
        path.chmod(0o755)
    (home.internal / "config.json").write_text("{}")
    with capture_logs() as logs:
        home.make()
    assert open_to_others(home.root) == {}
    assert any(one["path"] == str(home.workspace) for one in logs)


def test_a_folder_that_somebody_chose_as_workspace_stays_as_it_is(tmp_path: Path) -> None:
    chosen = tmp_path / "project"
    chosen.mkdir(mode=0o755)
    home = Home(tmp_path / "home")
    home.root.mkdir()
    home.workspace.symlink_to(chosen)
    home.make()
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o755


def test_a_home_that_cannot_be_closed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotPrivate, match=r"another user|open to other users"):
        Home(another_users(tmp_path)).make()


def test_the_service_in_the_manual_keeps_its_folder_to_itself() -> None:
    page = (ROOT / "docs" / "operate" / "deployment.md").read_text(encoding="utf-8")
    (unit,) = (
        block for block in page.split("```") if block.startswith("ini\n[Unit]\nDescription=Trunk")
    )
    folder = dict(line.split("=", 1) for line in unit.splitlines() if line.startswith("State"))
    assert folder == {"StateDirectory": "trunkline", "StateDirectoryMode": "0700"}
    assert f"TRUNKLINE_DATA=/var/lib/{folder['StateDirectory']}" in unit
