"""Where sessions' sockets are, whatever the home is called."""

import asyncio
import socket
import stat
from pathlib import Path

import pytest

from trunkline.execution.errors import MessageTooLong
from trunkline.execution.process.sockets import SOCKET_PATH_BYTES_MAX, Lines, SocketFolder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.proves("004-4.5-unix-socket")
async def test_a_socket_is_private_and_so_is_its_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = SocketFolder(tmp_path)
    made = await folder.open()
    assert made.path.parent == tmp_path
    assert (mode(made.path), mode(tmp_path)) == (0o600, 0o700)
    made.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 200, "é" * 60])
async def test_a_home_with_a_long_name_gets_its_sockets_elsewhere(
    tmp_path: Path, name: str
) -> None:
    deep = tmp_path / name
    deep.mkdir()
    folder = SocketFolder(deep)
    made = await folder.open()
    assert len(bytes(made.path)) <= SOCKET_PATH_BYTES_MAX
    assert (mode(made.path), mode(folder.path)) == (0o600, 0o700)
    made.close()
    folder.close()
    assert not folder.path.exists()
    assert deep.exists()


async def test_the_sockets_of_a_daemon_that_was_killed_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old.sock").touch()
    (tmp_path / "daemon.lock").touch()
    SocketFolder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["daemon.lock"]


class Gathered:
    """What came over a connection, and why it ended."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def on_line(self, line: bytes) -> None:
        if line == b"raise":
            raise ValueError("no such line")
        self.lines.append(line)

    def on_lost(self, error: Exception | None) -> None:
        self.lost.set_result(error)


async def sent(*pieces: bytes, bytes_max: int = 10) -> tuple[Gathered, Exception | None]:
    """What a connection makes of bytes, after which the other side closes it."""
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, lines = await loop.create_connection(lambda: Lines(bytes_max), sock=ours)
    gathered = Gathered()
    lines.listen(gathered)
    with theirs:
        theirs.setblocking(False)
        for piece in pieces:
            await loop.sock_sendall(theirs, piece)
    return gathered, await gathered.lost


async def test_lines_arrive_whole_however_they_were_sent() -> None:
    gathered, error = await sent(b"on", b"e\ntw", b"o\n\nthree\nrest without an end")
    assert gathered.lines == [b"one", b"two", b"", b"three"]
    assert isinstance(error, MessageTooLong)  # the rest has more than ten bytes


@pytest.mark.parametrize("pieces", [(b"x" * 11 + b"\n",), (b"x" * 6, b"x" * 6), (b"x" * 5000,)])
async def test_a_line_over_the_bound_ends_the_connection(pieces: tuple[bytes, ...]) -> None:
    gathered, error = await sent(b"0123456789\n", *pieces)
    assert gathered.lines == [b"0123456789"]
    assert isinstance(error, MessageTooLong)


async def test_a_line_that_its_reader_refuses_ends_the_connection() -> None:
    gathered, error = await sent(b"one\nraise\ntwo\n")
    assert gathered.lines == [b"one"]
    assert isinstance(error, ValueError)
