"""Where sessions' processes connect: one Unix socket each, for one process, for one connection."""

import asyncio
import os
import secrets
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import structlog

from trunkline import limits
from trunkline.execution.session.lines import Lines

_log = structlog.get_logger(__name__)

_NAME_BYTES = len("/" + "0" * 12 + ".sock")


class SocketFolder:
    """A private folder of sockets: the home's own, or a temporary one where that has too long a
    name for a socket's address."""

    def __init__(self, folder: Path) -> None:
        fits = len(os.fsencode(folder)) + _NAME_BYTES <= limits.SOCKET_PATH_BYTES_MAX
        self._is_temporary = not fits
        self.path = folder if fits else Path(tempfile.mkdtemp(prefix="trunkline-"))
        self.path.chmod(0o700)
        for left in self.path.glob("*.sock"):  # of a daemon that was killed
            left.unlink(missing_ok=True)

    async def open(self) -> "SessionSocket":
        made = SessionSocket(self.path / f"{secrets.token_hex(6)}.sock")
        await made.open()
        return made

    def close(self) -> None:
        if self._is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)


class SessionSocket:
    """A socket that waits for one process. Any other that connects is turned away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._server: asyncio.Server
        self._arrived: asyncio.Queue[Lines] = asyncio.Queue()

    async def open(self) -> None:
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(end.fileno(), 0o600)  # before it has a name: no moment of a wider mode
            end.bind(str(self.path))
        except OSError:
            end.close()
            raise
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: Lines(limits.IPC_LINE_BYTES_MAX, self._arrived.put_nowait), sock=end
        )

    async def accept(self, pid: int) -> Lines:
        """The connection of that process."""
        while True:
            lines = await self._arrived.get()
            if lines.peer_pid in (pid, None):
                return lines
            _log.warning("a stranger connected to a session's socket", pid=lines.peer_pid)
            lines.close()

    def close(self) -> None:
        """Nobody else may connect; the connection that was accepted lives on."""
        self._server.close()
        self.path.unlink(missing_ok=True)
        with suppress(asyncio.QueueEmpty):
            while True:
                self._arrived.get_nowait().close()
