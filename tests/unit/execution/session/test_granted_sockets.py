"""A Unix socket that a person has let one command connect to: that one, and no other."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from trunkline.execution.errors import RequestFailed
from trunkline.execution.fence import probe
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.probe import Found
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.session.fencing import wider
from trunkline.execution.session.grants import Grants

FOUND = probe.look()
CAN = FOUND.files and FOUND.calls and FOUND.connects
pytestmark = pytest.mark.skipif(not CAN, reason="no connection can be judged here")

PROGRAM = """
import os, socket, sys, threading

def said(kind, address, *more):
    with socket.socket(kind, *more) as link:
        try:
            link.connect(address)
            return link.recv(100).decode()
        except OSError as error:
            return type(error).__name__

given, other, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("given:", said(socket.AF_UNIX, given))
print("other:", said(socket.AF_UNIX, other))
print("abstract:", said(socket.AF_UNIX, chr(0) + "trunkline-nobody"))
os.symlink(given, "link")
print("by a link:", said(socket.AF_UNIX, os.path.abspath("link")))
print("network:", said(socket.AF_INET, ("127.0.0.1", port)) if port else "")
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as error:
    print("datagrams:", type(error).__name__)
os.rename(given, given + ".old")
os.symlink(other, given)
print("put in its place:", said(socket.AF_UNIX, given))
"""
TAKES = "PermissionError"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    made.session("s-1").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (made.workspace / "try.py").write_text(PROGRAM)
    return made


@pytest_asyncio.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """Of a server of the network; two others are at sockets."""

    def telling(what: bytes) -> Any:
        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(what)
            writer.close()

        return serve

    given = await asyncio.start_unix_server(telling(b"the agent"), tmp_path / "out" / "given.sock")
    other = await asyncio.start_unix_server(telling(b"another"), tmp_path / "other.sock")
    network = await asyncio.start_server(telling(b"the network"), "127.0.0.1", 0)
    async with given, other, network:
        yield network.sockets[0].getsockname()[1]


async def ran(home: Home, tool_input: dict[str, Any], found: Found = FOUND, **config: Any) -> str:
    """In a session whose person said yes to it."""
    env = {"HOME": str(home.root.parent), "PATH": os.environ["PATH"]}
    fence = Fence(home, "auto", found, env=env)
    start = ipc.Start(session_id="s-1", home=str(home.root), session_config=config)
    grants = Grants(lambda access: wider(fence.profile, start, access), env)
    asked = {"type": "approval_request", "tool_name": "bash_with_access", "request_id": "q"}
    grants.saw(msgspec.json.encode({**asked, "tool_input": tool_input}).decode())
    grants.answered({"request_id": "q", "confirmed": True})
    wanted = {"request_id": "q", "tool_input": tool_input, "timeout_s": 60}
    return str((await grants.run(wanted, lambda _text: None))["output"])


def asking(tmp_path: Path, port: int) -> dict[str, Any]:
    out = tmp_path / "out"
    command = f"{sys.executable} try.py {out}/given.sock {tmp_path}/other.sock {port}"
    sockets = [f"{out}/given.sock"]
    return {"command": command, "why": "x", "sockets": sockets, "write": [str(out)]}


@pytest.mark.parametrize("network", ["open", "off"])
async def test_a_command_reaches_the_socket_that_was_allowed_and_no_other(
    tmp_path: Path, home: Home, port: int, network: str
) -> None:
    asked = asking(tmp_path, port if network == "open" else 0)
    output = await ran(home, asked, network=network)
    assert dict(line.split(": ", 1) for line in output.splitlines()) == {
        "given": "the agent",
        "other": TAKES,
        "abstract": TAKES,
        "by a link": "the agent",
        "network": "the network" if network == "open" else "",
        "datagrams": TAKES,
        "put in its place": TAKES,
    }


async def test_where_one_socket_cannot_be_told_from_another_none_is_opened(
    tmp_path: Path, home: Home, port: int
) -> None:
    without = msgspec.structs.replace(FOUND, connects=False)
    with pytest.raises(RequestFailed, match="to one socket and to no other"):
        await ran(home, asking(tmp_path, port), without)
