"""`code_execution`: Python in the workspace, with the bounds of a command."""

import asyncio
from pathlib import Path

import pytest

from tests.support.eventually import until
from tests.unit.execution.tools.support import Call
from trunkline.execution.skills.code_executor import CodeExecution


@pytest.fixture
def tool(env: dict[str, str]) -> CodeExecution:
    return CodeExecution(env)


@pytest.mark.proves("004-7.2-code")
async def test_code_prints_and_writes_files_of_the_workspace(
    tool: CodeExecution, call: Call
) -> None:
    code = "import pathlib\npathlib.Path('made.txt').write_text('é')\nprint(6 * 7, '数')"
    result = await call.run(tool, code=code)
    assert (result.content, result.is_error) == ("42 数", False)
    assert call.file("made.txt").read_text() == "é"


async def test_modules_of_the_workspace_can_be_imported(tool: CodeExecution, call: Call) -> None:
    call.file("mine.py").write_text("answer = 42")
    assert (await call.run(tool, code="import mine; print(mine.answer)")).content == "42"


async def test_an_exception_can_be_read(tool: CodeExecution, call: Call) -> None:
    result = await call.run(tool, code="1 / 0")
    assert not result.is_error
    assert "ZeroDivisionError" in result.content
    assert result.content.endswith("[exit code 1]")


async def test_output_is_shown_while_the_code_runs_and_cancelling_ends_it(
    tool: CodeExecution, call: Call
) -> None:
    code = "import os, time\nprint(__file__)\ntime.sleep(300)"
    task = asyncio.create_task(call.run(tool, code=code))
    script = (await until(lambda: "".join(call.shown))).strip()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(script).exists()


@pytest.mark.proves("004-11-code-timeout")
async def test_code_that_takes_too_long_is_ended(tool: CodeExecution, call: Call) -> None:
    result = await call.run(tool, code="while True: pass", timeout_seconds=0.5)
    assert result.details["timed_out"]


def test_it_is_always_asked_about(tool: CodeExecution) -> None:
    assert tool.is_dangerous({"code": "pass"})
