"""`bash`: what it returns, what it shows, and that nothing outlives it."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.eventually import eventually, until
from tests.unit.execution.tools.support import Call, is_running
from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.tools.commands import PROGRESS_CHARS_MAX, Bash
from trunkline.execution.tools.text_files import Paths


@pytest.fixture
def bash(env: dict[str, str], paths: Paths) -> Bash:
    return Bash(env, paths)


async def pid_in(path: Path) -> int:
    """The process id that a command writes to a file, once it is there whole."""
    text = await until(
        lambda: path.read_text() if path.exists() else "", lambda text: text.endswith("\n")
    )
    return int(text)


async def gone(pid: int) -> None:
    await until(lambda: not is_running(pid))


async def test_output_and_errors_come_in_their_order_with_the_exit_code(
    bash: Bash, call: Call
) -> None:
    result = await call.run(bash, command="echo one; echo two >&2; echo three; exit 3")
    assert result.content == "one\ntwo\nthree\n[exit code 3]"
    assert not result.is_error
    assert result.details == {"exit_code": 3, "timed_out": False, "output_cut_chars": 0}


async def test_a_command_that_prints_nothing_says_so(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="true")
    assert (result.content, result.is_error) == ("(no output)", False)


async def test_it_runs_in_the_workspace(bash: Bash, call: Call) -> None:
    assert (await call.run(bash, command="pwd -P")).content == str(call.home.workspace.resolve())


async def test_there_is_nothing_to_read_on_its_input(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="cat; read line; echo $?")
    assert result.content == "1"


async def test_no_secret_of_the_machine_is_in_its_environment(paths: Paths, call: Call) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "GREETING": "hello",
        "OPENAI_API_KEY": "sk-1",
        "VM_TOKEN": "t",
        "VM_TICKET": "t",
        "TRUNKLINE_ADMIN_TOKEN": "t",
        "GITHUB_TOKEN": "t",
        "CLIENT_SECRET": "t",
        "INNOCENT": "carries sk-secret-1234 inside",
        "BASH_ENV": "/etc/profile",
    }
    bash = Bash(scrubbed(env, secrets=["sk-secret-1234"]), paths)
    lines = (await call.run(bash, command="env")).content.splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert "GREETING" in names
    assert not names & (set(env) - {"PATH", "GREETING"})


async def test_output_is_shown_while_the_command_runs(bash: Bash, call: Call) -> None:
    task = asyncio.create_task(
        call.run(bash, command="echo started; until [ -e go ]; do sleep 0.02; done; echo done")
    )

    async def shown() -> str:
        return "".join(call.shown)

    await eventually(shown, lambda text: text == "started\n")
    assert not task.done()
    call.file("go").touch()
    assert (await task).content == "started\ndone"
    assert await shown() == "started\ndone\n"


async def test_long_output_keeps_both_ends_and_says_what_is_missing(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="echo first; yes middle | head -c 1000000; echo last")
    cut = result.details["output_cut_chars"]
    assert cut == 1_000_000 + len("first\nlast\n") - limits.TOOL_RESULT_CHARS_MAX
    assert result.content.startswith("first\nmiddle")
    assert result.content.endswith("last")
    assert f"{cut} characters left out" in result.content
    assert len("".join(call.shown)) < PROGRESS_CHARS_MAX + 10_000


async def test_a_flood_of_output_ends_the_command(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="yes", timeout_seconds=600)
    assert result.is_error
    assert result.content.endswith("[ended: it printed too much]")
    assert not result.details["timed_out"]


async def test_output_that_is_no_text_does_no_harm(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command=r"printf '\xff\xfe\x00ok'")
    assert result.content == "\ufffd\ufffd\x00ok"


@pytest.mark.proves("004-11-code-timeout")
async def test_time_out_ends_the_command_and_what_it_left_in_the_background(
    bash: Bash, call: Call
) -> None:
    command = "sleep 300 & echo $! > pid; echo working; sleep 300"
    result = await call.run(bash, command=command, timeout_seconds=1)
    assert result.is_error
    assert result.content == "working\n[ended after 1 s: it took too long]"
    assert result.details["timed_out"]
    await gone(await pid_in(call.file("pid")))


@pytest.mark.parametrize(
    "start",
    [
        "sleep 300 & echo $! > pid",
        "set -m; sleep 300 & echo $! > pid",
        "(trap '' TERM HUP INT; sleep 300) & echo $! > pid",
        "nohup sleep 300 >/dev/null 2>&1 & echo $! > pid; disown",
    ],
    ids=["plain", "job-control", "deaf", "nohup"],
)
async def test_cancelling_ends_the_whole_group(bash: Bash, call: Call, start: str) -> None:
    task = asyncio.create_task(call.run(bash, command=f"{start}; echo $$ > leader; sleep 300"))
    leader = await pid_in(call.file("leader"))
    child = await pid_in(call.file("pid"))
    assert is_running(child)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(leader)
    await gone(child)


async def test_a_finished_command_leaves_nothing_in_the_background(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="sleep 300 & echo $! > pid; echo over")
    assert result.content == "over"
    await gone(await pid_in(call.file("pid")))


async def test_a_program_that_escaped_and_holds_the_output_keeps_nobody_waiting(
    bash: Bash, call: Call
) -> None:
    result = await call.run(bash, command="setsid sleep 300 & echo $! > pid; echo over")
    assert result.content == "over"
    os.kill(await pid_in(call.file("pid")), 9)


async def test_a_signal_is_named(bash: Bash, call: Call) -> None:
    result = await call.run(bash, command="kill -SEGV $$")
    assert "[ended by signal SIGSEGV]" in result.content


async def test_a_command_with_a_nul_is_refused(bash: Bash, call: Call) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await call.run(bash, command="echo a\0b")


async def test_a_workspace_that_is_gone_is_an_error_in_words(bash: Bash, call: Call) -> None:
    call.home.workspace.rmdir()
    with pytest.raises(ToolError, match="cannot be started: No such file"):
        await call.run(bash, command="true")
