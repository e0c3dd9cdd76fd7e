"""Local MCP servers as real processes: used, lost, started again, and gone at the end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.support.eventually import eventually, until
from tests.unit.execution.tools.support import is_running
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.mcp.client import MCP_LOG_LINES_MAX, LocalMcp
from trunkline.execution.mcp.servers import LocalServer

pytestmark = pytest.mark.slow

ODD = Path(__file__).parent / "odd_server.py"
TIME_SERVER = Path(sys.executable).parent / "mcp-server-time"
ENV = {"PATH": "/usr/bin:/bin", "PLAIN": "visible"}


def server(command: Path | str, *args: str, timeout_s: float = 30.0, **env: str) -> LocalServer:
    return LocalServer(
        name="odd", command=str(command), args=list(args), env=env, timeout_s=timeout_s
    )


@pytest.fixture
async def odd(home: Home) -> AsyncIterator[LocalMcp]:
    client = LocalMcp(server(sys.executable, str(ODD), OWN_TOKEN="t-1"), ENV, home.workspace)
    yield client
    await client.close()


def said(result: Any) -> str:
    return str(result["content"][0]["text"])


async def pid_of(client: LocalMcp) -> int:
    return int(said(await client.call("pid", {})))


async def gone(pid: int) -> None:
    await until(lambda: not is_running(pid))


@pytest.mark.proves("004-7.2-local-mcp")
async def test_a_real_server_is_listed_and_called(home: Home) -> None:
    client = LocalMcp(server(TIME_SERVER, "--local-timezone", "UTC"), ENV, home.workspace)
    try:
        tools = await client.tools()
        assert {tool["name"] for tool in tools} == {"get_current_time", "convert_time"}
        assert tools[0]["inputSchema"]["type"] == "object"
        result = await client.call(
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        )
        assert "21:00" in said(result)
    finally:
        await client.close()


async def test_one_process_serves_all_calls_also_at_once(odd: LocalMcp) -> None:
    pids = await asyncio.gather(*(pid_of(odd) for _ in range(5)))
    assert len(set(pids)) == 1
    answers = await asyncio.gather(*(odd.call("echo", {"text": str(n)}) for n in range(20)))
    assert [said(answer) for answer in answers] == [str(n) for n in range(20)]


async def test_the_server_sees_its_own_secrets_and_nobody_elses(odd: LocalMcp) -> None:
    env = json.loads(said(await odd.call("env", {})))
    assert env["PLAIN"] == "visible"
    assert env["OWN_TOKEN"] == "t-1"
    assert set(env) <= {"PATH", "PLAIN", "OWN_TOKEN", "LC_CTYPE", "PWD", "SHLVL", "_"}


async def test_a_server_that_died_is_started_again(odd: LocalMcp) -> None:
    first = await pid_of(odd)
    with pytest.raises(ToolError, match="failed"):
        await odd.call("die", {})
    second = await pid_of(odd)
    assert second != first
    os.kill(second, signal.SIGKILL)
    await gone(second)

    async def look() -> bool:
        # Until the end of its pipes is seen, a call may still fail; it is never made twice.
        try:
            return await pid_of(odd) != second
        except ToolError:
            return False

    await eventually(look)


async def test_a_call_that_takes_too_long_is_given_up(home: Home) -> None:
    client = LocalMcp(server(sys.executable, str(ODD), timeout_s=0.3), ENV, home.workspace)
    with pytest.raises(ToolError, match=r"did not answer within 0\.3 s"):
        await client.call("hang", {})
    await client.close()


async def test_a_server_that_did_not_answer_is_ended_and_the_next_call_starts_another(
    home: Home,
) -> None:
    client = LocalMcp(server(sys.executable, str(ODD), timeout_s=1.0), ENV, home.workspace)
    first = await pid_of(client)
    with pytest.raises(ToolError, match="did not answer"):
        await client.call("hang", {})
    await gone(first)
    later = await asyncio.gather(*(pid_of(client) for _ in range(3)))
    assert len(set(later)) == 1
    assert first not in later
    await client.close()


async def test_nothing_of_a_server_is_left_when_it_is_closed(home: Home) -> None:
    client = LocalMcp(server(sys.executable, str(ODD)), ENV, home.workspace)
    child = int(said(await client.call("child", {})))
    pid = await pid_of(client)
    await client.close()
    assert not is_running(pid)
    await gone(child)
    with pytest.raises(ToolError, match="closed"):
        await client.call("echo", {})


async def test_a_program_that_escaped_and_holds_the_pipes_does_not_hold_up_the_end(
    home: Home,
) -> None:
    client = LocalMcp(server(sys.executable, str(ODD)), ENV, home.workspace)
    escaped = int(said(await client.call("escape", {})))
    await client.close()
    os.kill(escaped, signal.SIGKILL)


async def test_what_a_dead_server_left_in_the_background_ends_too(odd: LocalMcp) -> None:
    child = int(said(await odd.call("child", {})))
    with pytest.raises(ToolError):
        await odd.call("die", {})
    await gone(child)


async def test_an_error_of_the_tool_and_one_of_the_protocol_are_told_apart(odd: LocalMcp) -> None:
    result = await odd.call("fail", {})
    assert (result["isError"], said(result)) == (True, "it went wrong")
    with pytest.raises(ToolError, match="no such thing"):
        await odd.call("refuse", {})


async def test_noise_between_messages_does_no_harm_and_errors_are_logged(odd: LocalMcp) -> None:
    with structlog.testing.capture_logs() as logs:
        assert said(await odd.call("noise", {})) == "done"
        lines = await until(
            lambda: [entry for entry in logs if entry["event"] == "mcp server says"]
        )
    assert lines[0]["text"] == "a word on the error output"
    assert lines[0]["server"] == "odd"


async def test_a_server_that_says_too_much_is_logged_in_part_and_goes_on(odd: LocalMcp) -> None:
    with structlog.testing.capture_logs() as logs:
        assert said(await odd.call("chatter", {})) == "done"
        assert said(await odd.call("echo", {"text": "still here"})) == "still here"
        await until(lambda: any("says too much" in entry["event"] for entry in logs))
    lines = [entry for entry in logs if entry["event"] == "mcp server says"]
    assert len(lines) == MCP_LOG_LINES_MAX


async def test_a_message_without_end_ends_the_server_and_not_us(odd: LocalMcp) -> None:
    with pytest.raises(ToolError, match="failed"):
        await odd.call("flood", {})
    assert said(await odd.call("echo", {"text": "again"})) == "again"


async def test_cancelling_a_call_leaves_the_server_usable(odd: LocalMcp) -> None:
    await pid_of(odd)
    task = asyncio.create_task(odd.call("echo", {"text": "x"}))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said(await odd.call("echo", {"text": "y"})) == "y"


@pytest.mark.parametrize(
    ("command", "args", "reason"),
    [
        ("no-such-program", (), "No such file"),
        ("/", (), "Permission denied"),
        ("false", (), "cannot be used"),
        ("echo", ("hello",), "cannot be used"),
    ],
)
async def test_a_server_that_cannot_be_started_is_an_error_in_words(
    home: Home, command: str, args: tuple[str, ...], reason: str
) -> None:
    client = LocalMcp(server(command, *args), ENV, home.workspace)
    with pytest.raises(ToolError, match=reason):
        await client.tools()
    await client.close()


async def test_closing_does_not_wait_for_a_server_that_never_greets(home: Home) -> None:
    client = LocalMcp(server(sys.executable, str(ODD), "silent"), ENV, home.workspace)
    task = asyncio.create_task(client.tools())

    async def look() -> str:
        note = home.workspace / "pid"
        return note.read_text() if note.exists() else ""

    pid = await eventually(look, lambda text: text.endswith("\n"))
    await client.close()
    with pytest.raises(ToolError):
        await task
    await gone(int(pid))


LAST = "import os, sys; print('Traceback: no file for', os.environ['OWN_TOKEN'], file=sys.stderr)"


async def test_a_server_that_does_not_come_up_shows_its_last_words_without_its_secrets(
    home: Home,
) -> None:
    program = f"{LAST}; sys.exit(3)"
    client = LocalMcp(
        server(sys.executable, "-c", program, OWN_TOKEN="secret-of-it"), ENV, home.workspace
    )
    try:
        with pytest.raises(ToolError) as failed:
            await client.tools()
    finally:
        await client.close()
    assert "it ended with 3" in str(failed.value)
    assert "its last words: Traceback: no file for …" in str(failed.value)
    assert "secret-of-it" not in str(failed.value)


async def test_a_server_that_dies_in_a_call_shows_its_last_words(odd: LocalMcp) -> None:
    await odd.call("noise", {})
    with pytest.raises(ToolError) as failed:
        await odd.call("die", {})
    assert "it ended with 7" in str(failed.value)
    assert "its last words: a word on the error output" in str(failed.value)
