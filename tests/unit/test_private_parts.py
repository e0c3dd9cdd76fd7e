"""Canaries for the private parts of other libraries that are used outside the door, and a scan of
the sources that finds a use which no canary watches.

Those that the door uses are watched in `control/door/test_private_parts.py`, asyncpg's, which needs
a database, in `control/test_private_parts.py`.
"""

import ast
import asyncio
import contextlib
import importlib
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import aiosqlite
import pytest
import typer
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.support.eventually import WAIT_S
from tests.support.parsed import parsed
from trunkline.cli.values import lighten

SOURCE = Path(__file__).parents[2] / "src/trunkline"

WATCHED = {
    ("cli/tree.py", "typer._click.core"),
    ("cli/tree.py", "typer._click.exceptions"),
    ("cli/tree.py", "typer._click.formatting"),
    ("cli/tree.py", "typer._click.shell_completion"),
    ("cli/values.py", "_runtime_param"),
    ("cli/values.py", "typer._coercion"),
    ("control/door/door.py", "_message_tail"),
    ("control/store/engine.py", "_connection"),
    ("control/store/engine.py", "_thread"),
    ("control/store/engine.py", "_tx"),
    ("control/store/postgres.py", "_transport"),
    ("execution/mcp/client.py", "_transport"),
    ("execution/mcp/client.py", "mcp.client._transport"),
    ("execution/runtimes/claude_code/connection.py", "_transport"),
    ("execution/ws/connection.py", "_conn"),
}
"""Where which part is used. Each has a canary here or in one of the two files named above; the same
name in another file is another part."""
# Documented, in spite of their underscore.
DOCUMENTED = {"_asdict", "_replace", "_fields", "_exit"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.Module) -> set[str]:
    """The private names that a module itself gives to something."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def private_parts(tree: ast.Module) -> Iterator[str]:
    """What a module takes that is private to another one."""
    own = own_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=name) if is_private(name):
                is_ours = isinstance(value, ast.Name) and value.id in ("self", "cls")
                if not is_ours and name not in own | DOCUMENTED:
                    yield name
            case ast.ImportFrom(module=str(module)) if any(map(is_private, module.split("."))):
                yield module
            case ast.Import(names=names):
                yield from (one.name for one in names if any(map(is_private, one.name.split("."))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("protocol._message_tail", ["_message_tail"]),
        ("from mcp.client._transport import X", ["mcp.client._transport"]),
        ("import anyio._backends", ["anyio._backends"]),
        ("class A:\n def _b(self): ...\n def c(self, other): other._b()", []),
        ("self._x = 1", []),
        ("row._asdict()", []),
    ],
)
def test_a_use_of_a_private_part_is_seen(text: str, found: list[str]) -> None:
    assert list(private_parts(parsed(text))) == found


def test_every_private_part_of_a_library_that_is_used_has_a_canary() -> None:
    used = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in sorted(SOURCE.rglob("*.py"))
        for name in private_parts(parsed(path.read_text(encoding="utf-8")))
    }
    assert sorted(used - WATCHED) == []
    assert sorted(WATCHED - used) == [], "watched, and not used any more"


async def test_aiosqlite_has_one_thread_a_connection_that_can_be_exchanged_before_it_is_awaited(
    tmp_path: Path,
) -> None:
    broken = (
        "aiosqlite has changed: `Connection._thread` is not the thread that serves its queue `_tx`"
        " by `_connection_worker_thread` until the connection is closed, or runs before it is"
        " awaited, or `_connection` is not None once it is closed; `control/store/engine.py` has a"
        " thread of its own there, which outlives its event loop in peace"
    )
    serve = getattr(aiosqlite.core, "_connection_worker_thread", None)
    assert serve is not None, broken
    connection: Any = aiosqlite.connect(tmp_path / "x.db")
    parts = vars(connection)
    assert isinstance(parts.get("_thread"), threading.Thread), broken
    assert not parts["_thread"].is_alive(), broken
    parts["_thread"] = own = threading.Thread(target=serve, args=(parts["_tx"],), daemon=True)
    async with connection:
        assert own.is_alive(), broken
        assert parts["_connection"] is not None, broken
    own.join(10)
    assert not own.is_alive(), broken
    assert parts["_connection"] is None, broken


def test_the_mcp_sdk_names_the_type_of_a_transports_streams() -> None:
    with contextlib.suppress(ImportError):
        if hasattr(importlib.import_module("mcp.client._transport"), "TransportStreams"):
            return
    pytest.fail(
        "the MCP SDK has changed: `mcp.client._transport.TransportStreams` is gone; it is what "
        "`execution/mcp/stdio.py` says that it yields, and nothing public has that type"
    )


def test_typer_reads_a_value_by_a_part_that_can_be_exchanged() -> None:
    broken = (
        "Typer has changed: a parameter's `_runtime_param` is not what reads its value; "
        "`cli/values.py` puts its own there, so that no command loads Pydantic"
    )
    app = typer.Typer()

    @app.command()
    def command(count: int) -> None: ...

    coercion = importlib.import_module("typer._coercion")
    made: Any = typer.main.get_command(app)
    (count,) = (one for one in made.params if one.name == "count")
    assert hasattr(coercion.RuntimeParam, "_coerce_value"), broken
    assert isinstance(count.type_descriptor, coercion.TypeDescriptor), broken
    assert isinstance(coercion.build_runtime_param(count.type_descriptor), coercion.RuntimeParam)
    lighten([count])
    reading = getattr(count, "_runtime_param", None)
    assert reading is not None, broken
    read = reading.coerce("3", param=count, ctx=typer.Context(made))
    assert read == 3, broken
    # The rows of the root's completion.
    assert importlib.import_module("typer._click.shell_completion").CompletionItem("x").value == "x"


def test_typer_writes_help_and_refusals_by_parts_that_can_be_exchanged() -> None:
    broken = (
        "Typer has changed: a command's context, its writer of help or its refusals are made "
        "elsewhere; `cli/tree.py` puts its own there, so that narrow terminals break between words"
    )
    core = importlib.import_module("typer._click.core")
    writer = importlib.import_module("typer._click.formatting").HelpFormatter
    refusals = importlib.import_module("typer._click.exceptions")
    group: Any = typer.core.TyperGroup(name="x", commands={})
    assert group.context_class is core.Context, broken
    assert core.Context.formatter_class is writer, broken
    assert hasattr(writer, "write_dl"), broken
    assert issubclass(refusals.UsageError, refusals.ClickException), broken
    with pytest.raises(refusals.UsageError):
        group.make_context("x", ["--nothing"])


async def test_asyncio_lets_go_of_a_childs_pipes_by_the_private_transport_of_its_process() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=PIPE, stdout=PIPE
    )
    broken = (
        "asyncio has changed: `Process._transport.close()` does not close the pipes of a child; "
        "`execution/mcp/client.py` and `runtimes/claude_code/connection.py` close those that an "
        "escaped grandchild holds open that way"
    )
    transport = getattr(child, "_transport", None)
    assert isinstance(transport, asyncio.SubprocessTransport), broken
    transport.close()
    assert child.stdin is not None
    assert child.stdin.is_closing(), broken
    await child.wait()


async def test_aiohttps_websocket_gives_its_connection_so_that_it_can_be_aborted() -> None:
    async def accept(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        return socket

    app = web.Application()
    app.router.add_get("/", accept)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession() as http,
        http.ws_connect(server.make_url("/")) as socket,
    ):
        connection = getattr(socket, "_conn", None)
        transport = getattr(connection, "transport", None)
        assert isinstance(transport, asyncio.Transport), (
            "aiohttp has changed: `ClientWebSocketResponse._conn` has no transport of the "
            "connection; a machine on a foreign wire aborts a line that is never read through it"
        )
        transport.abort()
        async with asyncio.timeout(WAIT_S):
            assert (await socket.receive()).type is not aiohttp.WSMsgType.TEXT
