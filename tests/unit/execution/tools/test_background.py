"""Commands in the background: started at once, read bit by bit, stopped, bounded."""

from collections.abc import AsyncIterator

import pytest

from tests.support.eventually import until
from tests.unit.execution.tools.support import Call, is_running
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.background import RUNNING_MAX, Background, BashOutput, BashStop
from trunkline.execution.tools.commands import Bash
from trunkline.execution.tools.text_files import Paths


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    background = Background()
    yield background
    await background.close()


@pytest.fixture
def bash(env: dict[str, str], paths: Paths, background: Background) -> Bash:
    return Bash(env, paths, background)


async def begin(bash: Bash, call: Call, command: str) -> str:
    result = await call.run(bash, command=command, background=True)
    assert result.details["running"]
    return str(result.details["id"])


async def test_a_command_in_the_background_is_read_bit_by_bit_until_its_end(
    bash: Bash, background: Background, call: Call
) -> None:
    output = BashOutput(background)
    found = await begin(
        bash, call, "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3"
    )
    first = await call.run(output, id=found, wait_seconds=10)
    assert first.content == "one\n[running]"
    assert (await call.run(output, id=found)).content == "(nothing new)\n[running]"
    call.file("go").touch()
    await until(lambda: not background.get(found).is_running)
    last = await call.run(output, id=found)
    assert last.content == "two\n[exit code 3]"
    assert last.details == {
        "id": found,
        "running": False,
        "exit_code": 3,
        "output_cut_chars": 0,
    }
    assert not last.is_error
    assert "one" in "".join(call.shown)


async def test_an_end_that_the_agent_has_not_seen_is_told_once(
    bash: Bash, background: Background, call: Call
) -> None:
    found = await begin(bash, call, "until [ -e go ]; do sleep 0.01; done; exit 3")
    assert background.news() == ""
    call.file("go").touch()
    await until(lambda: not background.get(found).is_running)
    assert f"- {found}: until [ -e go ]" in (told := background.news())
    assert told.endswith("[exit code 3]")
    assert background.news() == ""
    seen = await begin(bash, call, "true")
    await until(lambda: not background.get(seen).is_running)
    await call.run(BashOutput(background), id=seen)
    assert background.news() == ""


async def test_stopping_ends_everything_that_it_started(
    bash: Bash, background: Background, call: Call
) -> None:
    found = await begin(bash, call, "sleep 600 & echo $! > pid; wait")
    await until(lambda: call.file("pid").exists() and call.file("pid").read_text().strip())
    pid = int(call.file("pid").read_text())
    assert is_running(pid)
    result = await call.run(BashStop(background), id=found)
    assert "[stopped]" in result.content
    await until(lambda: not is_running(pid))


async def test_all_of_them_end_with_the_session(
    bash: Bash, background: Background, call: Call
) -> None:
    await begin(bash, call, "echo $$ > pid; exec sleep 600")
    await until(lambda: call.file("pid").exists() and call.file("pid").read_text().strip())
    await background.close()
    await until(lambda: not is_running(int(call.file("pid").read_text())))


async def test_there_are_bounds_and_unknown_ones_are_told(
    bash: Bash, background: Background, call: Call
) -> None:
    for _ in range(RUNNING_MAX):
        await begin(bash, call, "exec sleep 600")
    with pytest.raises(ToolError, match="as many as may"):
        await begin(bash, call, "true")
    with pytest.raises(ToolError, match="no background command 'x"):
        await call.run(BashOutput(background), id="x" * 40)


async def test_much_output_is_kept_from_both_ends(
    bash: Bash, background: Background, call: Call
) -> None:
    found = await begin(bash, call, "echo begin; head -c 200000 /dev/zero | tr '\\0' x; echo end")
    await until(lambda: not background.get(found).is_running)
    result = await call.run(BashOutput(background), id=found)
    assert result.content.startswith("begin")
    assert result.content.endswith("end\n[exit code 0]")
    assert result.details["output_cut_chars"] > 100_000
    assert len(result.content) < 40_000


async def test_how_long_a_command_may_take_is_the_agents_setting(bash: Bash, call: Call) -> None:
    with pytest.raises(ToolError, match="at most 600"):
        await call.run(bash, command="true", timeout_seconds=601)
    longer = call.told_by(command_timeout_s_max=700)
    assert not (await bash.run({"command": "true", "timeout_seconds": 601}, longer)).is_error
    short = call.told_by(command_timeout_s=0.05)
    assert (await bash.run({"command": "sleep 9"}, short)).is_error
