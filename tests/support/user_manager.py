"""A user manager of systemd for tests: the real one, with a home, a runtime folder and a group of
processes of its own, so that whatever manager this user has is neither asked nor changed.

Takes root, and a machine where groups can be made. The group only keeps the manager's processes
together: nothing in it is bounded. Without a system manager it would not start (sd_booted), so it
sees an empty `/run/systemd` with the sign of one, in a mount namespace of its own.
"""

import asyncio
import os
import secrets
import shutil
from pathlib import Path

import pytest

from tests.support.eventually import eventually

_MANAGER = Path("/usr/lib/systemd/systemd")
_GROUPS = Path("/sys/fs/cgroup")
_START = """
for group do echo $$ > "$group/cgroup.procs" || exit; done
exec unshare --mount sh -c '
    mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/system && exec "$0" --user' "$MANAGER"
"""


class UserManager:
    """Used as a context. `env` leads `systemctl --user` to it."""

    def __init__(self, home: Path, runtime: Path) -> None:
        self.env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": os.defpath}
        runtime.mkdir(mode=0o700)
        self._log = runtime / "manager.log"
        name = f"trunkline-test-{secrets.token_hex(6)}"  # the same one in every hierarchy
        self._groups = [one / name for one in _here()]
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "UserManager":
        try:
            for group in self._groups:
                group.mkdir()
            await self._start()
        except BaseException as error:
            await self._clear()
            if isinstance(error, OSError):
                pytest.skip(f"no group of processes can be made here: {error}")
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._clear()

    async def _clear(self) -> None:
        await self._stop()
        for group in self._groups:
            for folder, _, _ in os.walk(group, topdown=False):
                Path(folder).rmdir()

    async def boot(self) -> None:
        """Ends with all that it has started, and starts anew, as when its computer does."""
        await self._stop()
        await self._start()

    async def ask(self, *command: str) -> tuple[int, str]:
        """The exit code, and what it printed."""
        done = await asyncio.create_subprocess_exec(
            *command,
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await done.communicate()
        return done.returncode or 0, out.decode().strip()

    async def process_of(self, unit: str) -> int:
        """0 while it has none."""
        _, out = await self.ask("systemctl", "--user", "show", "-p", "MainPID", "--value", unit)
        return int(out)

    async def _start(self) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *("sh", "-c", _START, "sh", *map(str, self._groups)),
                env={**self.env, "MANAGER": str(_MANAGER), "SYSTEMD_LOG_TARGET": "console"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process = self._process

        async def is_up() -> bool:
            assert process.returncode is None, self._log.read_text()
            code, _ = await self.ask("systemctl", "--user", "is-active", "default.target")
            return code == 0

        await eventually(is_up)

    async def _stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()


def needed() -> None:
    """Skips the test, with the reason, where no such manager can run."""
    programs = ("systemctl", "systemd-analyze", "unshare")
    if not _MANAGER.exists() or not all(map(shutil.which, programs)):
        pytest.skip("there is no systemd on this machine")
    if os.getuid() != 0:
        pytest.skip("a user manager of its own takes root, for a mount namespace")


def _here() -> list[Path]:
    """The groups of this process, in the hierarchies by which systemd tracks processes."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if controllers == "name=systemd":
            found.append(_GROUPS / "systemd" / path.lstrip("/"))
        elif number == "0":
            hybrid = _GROUPS / "unified"
            found.append((hybrid if hybrid.is_dir() else _GROUPS) / path.lstrip("/"))
    return found
