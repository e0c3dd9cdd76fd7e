"""Files and commands that an agent wants from us are those of the workspace, and nothing else."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.eventually import eventually, until
from tests.support.node import is_alive
from tests.unit.execution.runtimes.acp.conftest import AGENT, Acp
from trunkline.execution.runtimes.acp.terminals import TERMINALS_MAX
from trunkline.execution.session import ipc
from trunkline.execution.tools.text_files import FILE_BYTES_MAX

Json = dict[str, Any]
NOT_DONE = -32603
READ, WRITE = "fs/read_text_file", "fs/write_text_file"


def terminal(*argv: str, **more: Any) -> Json:
    return {"ask": ["terminal/create", {"command": argv[0], "args": list(argv[1:]), **more}]}


def about(method: str, terminal_id: str = "term-1") -> Json:
    return {"ask": [f"terminal/{method}", {"terminalId": terminal_id}]}


def answers(end: Json) -> list[Any]:
    return [json.loads(one) for one in end["content"].split("|") if one]


async def ask(acp: Acp, *steps: Json) -> list[Any]:
    parted = [one for step in steps for one in (step, {"say": "|"})]
    return answers(await acp.play(*parted))


async def process_in(file: Path) -> psutil.Process:
    """The process whose number a command has written."""
    await until(lambda: file.exists() and file.read_text())
    return psutil.Process(int(file.read_text()))


async def test_files_of_the_workspace_are_read_and_written(acp: Acp) -> None:
    await acp.host()
    path = str(acp.home.workspace / "folder" / "a.txt")
    written, whole, part, beyond = await ask(
        acp,
        {"ask": [WRITE, {"path": path, "content": "one\ntwo\nthree\n"}]},
        {"ask": [READ, {"path": path}]},
        {"ask": [READ, {"path": path, "line": 2, "limit": 1}]},
        {"ask": [READ, {"path": path, "line": 9}]},
    )
    assert written == {}
    assert whole == {"content": "one\ntwo\nthree\n"}
    assert part == {"content": "two\n"}
    assert beyond == {"content": ""}


async def test_nothing_outside_of_the_workspace_is_read_or_written(acp: Acp) -> None:
    await acp.host()
    outside = acp.home.root / "secret.txt"
    outside.write_text("secret")
    inside = acp.home.workspace
    (inside / "link.txt").symlink_to(outside)
    (inside / "up").symlink_to(acp.home.root)
    (inside / "loop").symlink_to(inside / "loop")
    paths = [
        *(str(outside), "../secret.txt", str(inside / ".." / "secret.txt"), "/etc/passwd"),
        *(str(inside / "link.txt"), str(inside / "up" / "secret.txt"), str(inside / "loop")),
        *("/proc/self/environ", str(inside / "up" / "new.txt"), "", "\0", "x" * 5_000),
    ]
    steps = [{"ask": [READ, {"path": path}]} for path in paths]
    steps += [{"ask": [WRITE, {"path": path, "content": "mine"}]} for path in paths]
    found = await ask(acp, *steps)
    assert [one.get("code") for one in found] == [NOT_DONE] * len(steps)
    assert outside.read_text() == "secret"
    assert not (acp.home.root / "new.txt").exists()


@pytest.mark.parametrize(
    "params",
    [
        *({}, {"path": None}, {"path": 7}, {"path": ["a"]}, {"path": "a.txt", "line": "1"}),
        *({"path": "a.txt", "limit": -1}, {"path": "a.txt", "line": True}, {"path": "folder"}),
        *({"path": "binary"}, {"path": "huge"}, {"path": "pipe"}),
    ],
)
async def test_what_is_no_text_file_is_refused_in_words(acp: Acp, params: Json) -> None:
    await acp.host()
    workspace = acp.home.workspace
    (workspace / "a.txt").write_text("a")
    (workspace / "folder").mkdir()
    (workspace / "binary").write_bytes(b"\0\1")
    (workspace / "huge").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    os.mkfifo(workspace / "pipe")
    [found] = await ask(acp, {"ask": [READ, params]})
    assert found["code"] == NOT_DONE
    assert found["message"]
    [found] = await ask(acp, {"ask": [WRITE, {"content": 7, **params}]})
    assert found["code"] == NOT_DONE


async def test_a_method_that_we_do_not_have_is_said_to_be_none(acp: Acp) -> None:
    await acp.host()
    [found] = await ask(acp, {"ask": ["fs/delete_everything", {}]})
    assert found["code"] == -32601


async def test_a_command_runs_in_the_workspace_and_its_output_is_shown(acp: Acp) -> None:
    await acp.host()
    (acp.home.workspace / "sub").mkdir()
    call: Json = {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "kind": "execute",
        "title": "pwd",
    }
    call |= {"rawInput": {"command": "pwd"}, "status": "in_progress"}
    shown = {**call, "content": [{"type": "terminal", "terminalId": "term-1"}]}
    env = [{"name": "WORD", "value": "hello"}]
    script = "pwd; echo $WORD; read line; exit 3"
    created, ended, output, released = await ask(
        acp,
        {"update": shown},
        terminal("bash", "-c", script, cwd=str(acp.home.workspace / "sub"), env=env),
        about("wait_for_exit"),
        about("output"),
        about("release"),
    )
    assert created == {"terminalId": "term-1"}
    assert ended == {"exitCode": 3, "signal": None}
    assert output["output"].endswith("workspace/sub\nhello\n")
    assert (output["truncated"], output["exitStatus"]) == (False, ended)
    assert released == {}
    text = "".join(one["content"] for one in acp.of("tool_call_progress"))
    assert text == output["output"]


async def test_a_command_may_be_a_line_for_the_shell(acp: Acp) -> None:
    await acp.host()
    _, _, output = await ask(
        acp,
        {"ask": ["terminal/create", {"command": "echo a | tr a b"}]},
        about("wait_for_exit"),
        about("output"),
    )
    assert output["output"] == "b\n"


async def test_a_command_that_is_killed_takes_its_children_with_it(acp: Acp) -> None:
    await acp.host()
    pid_file = acp.home.workspace / "pid"
    await acp.play(terminal("bash", "-c", "sleep 600 & echo $! > pid; wait"))
    child = await process_in(pid_file)
    running, killed, output = await ask(acp, about("output"), about("kill"), about("output"))
    assert "exitStatus" not in running
    assert killed == {}
    assert output["exitStatus"]["signal"] == "SIGKILL"
    await until(lambda: not is_alive(child))


@pytest.mark.parametrize("flags", [(), ("--deaf",)])
async def test_a_cancel_ends_the_commands_of_its_turn_and_no_others(
    acp: Acp, flags: tuple[str, ...]
) -> None:
    await acp.host(*flags)
    await acp.play(terminal("bash", "-c", "echo $$ > earlier; exec sleep 600"))
    earlier = await process_in(acp.home.workspace / "earlier")
    turn = acp.begin(terminal("bash", "-c", "echo $$ > pid; exec sleep 600"), {"wait": True})
    child = await process_in(acp.home.workspace / "pid")
    acp.send(ipc.Cancel())
    assert (await acp.end(turn))["cancelled"]
    await until(lambda: not is_alive(child))
    # An agent that does not listen is killed, with all that runs for it.
    if not flags:
        assert is_alive(earlier)


async def test_only_the_end_of_a_long_output_is_kept_at_a_whole_character(acp: Acp) -> None:
    await acp.host()
    program = "import sys; sys.stdout.write('é' * 100_000 + 'end')"
    _, _, output = await ask(
        acp,
        terminal(sys.executable, "-c", program, outputByteLimit=101),
        about("wait_for_exit"),
        about("output"),
    )
    assert output["truncated"] is True
    assert output["output"] == "é" * 49 + "end"


@pytest.mark.parametrize(
    "params",
    [
        *({}, {"command": ""}, {"command": 7}, {"command": "ls", "args": [7]}),
        *({"command": "ls\0"}, {"command": "ls", "args": ["x"] * 1_000}),
        *({"command": "ls", "cwd": "/"}, {"command": "ls", "cwd": ".."}),
        *({"command": "ls", "cwd": "nowhere"}, {"command": "ls", "cwd": 7}),
        *({"command": "ls", "env": [{"name": "A=B", "value": ""}]},),
        *({"command": "ls", "env": [7]}, {"command": "ls", "env": [{"name": "A", "value": 1}]}),
    ],
)
async def test_a_command_that_is_none_is_refused_in_words(acp: Acp, params: Json) -> None:
    await acp.host()
    [found] = await ask(acp, {"ask": ["terminal/create", params]})
    assert found["code"] == NOT_DONE


async def test_a_program_that_is_not_there_ends_with_the_reason(acp: Acp) -> None:
    await acp.host()
    _, ended, output = await ask(
        acp, terminal("no-such-program", "x"), about("wait_for_exit"), about("output")
    )
    assert ended["exitCode"] == 127
    assert "no-such-program" in output["output"]


async def test_terminals_are_bounded_and_unknown_ones_are_refused(acp: Acp) -> None:
    await acp.host()
    steps = [terminal("sleep", "600") for _ in range(TERMINALS_MAX + 1)]
    found = await ask(acp, *steps, about("output", "term-99"), {"ask": ["terminal/kill", {}]})
    assert [one.get("code") for one in found[-3:]] == [NOT_DONE] * 3
    assert await acp.stop() == 0

    async def left() -> list[psutil.Process]:
        return [one for one in psutil.Process().children(recursive=True) if one.name() == "sleep"]

    await eventually(left, lambda found: not found)


async def test_keys_of_the_agent_do_not_reach_its_commands(acp: Acp) -> None:
    command = {"command": [*AGENT, "--plain"], "env": {"SOME_TOKEN": "hidden"}}
    await acp.host(env={"OTHER_TOKEN": "hidden"}, agent_config={"acp": command, "model": "gpt-x"})
    _, _, output = await ask(acp, terminal("env"), about("wait_for_exit"), about("output"))
    assert "hidden" not in output["output"]
    assert "sk-test" not in output["output"]
