"""The driver against a program that behaves badly, or as older and newer ones do."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.unit.execution.runtimes.claude_code.conftest import Stage, Talk, answer, text
from trunkline.execution.runtimes.claude_code.connection import LINE_BYTES_MAX
from trunkline.execution.session import ipc

Json = dict[str, Any]
IDLE = ["line", {"type": "system", "subtype": "session_state_changed", "state": "idle"}]
RUNS = ["line", {"type": "system", "subtype": "session_state_changed", "state": "running"}]


async def test_a_program_without_states_ends_its_turn_with_its_result(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([text("Hi"), answer("Hi")])
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "Hi"


async def test_a_turn_is_over_when_nothing_is_left_to_do(talk: Talk, stage: Stage) -> None:
    later = answer("all done", origin={"kind": "task-notification"})
    stage.plays([RUNS, text("a"), answer("begun"), text("b"), later, IDLE])
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "all done"
    assert talk.text == "ab"


async def test_what_a_program_did_by_itself_ends_no_turn_of_a_person(
    talk: Talk, stage: Stage
) -> None:
    before = answer("of before", origin={"kind": "task-notification"})
    stage.plays([RUNS, before, IDLE, RUNS, text("yours"), answer("yours"), IDLE])
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "yours"


async def test_what_it_says_after_a_turn_belongs_to_none(talk: Talk, stage: Stage) -> None:
    stage.plays([answer("done"), text("by the way"), ["ask", {"subtype": "can_use_tool"}]])
    await talk.host()
    await talk.ask("hello")
    said = await talk.event("text_chunk")
    assert (said["content"], said.get("turn_id")) == ("by the way", None)
    await until(stage.answers)
    assert stage.answers()[0]["behavior"] == "deny"


@pytest.mark.parametrize("noise", ["", "{", "[]", "null", '{"type":7}', "\x00", '"text"'])
async def test_what_is_no_line_is_passed_over(talk: Talk, stage: Stage, noise: str) -> None:
    stage.plays([["raw", noise], answer("fine")])
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "fine"


async def test_a_line_without_end_ends_the_program(talk: Talk, stage: Stage) -> None:
    stage.plays([["flood", LINE_BYTES_MAX + 10]])
    await talk.host()
    end = await talk.ask("hello")
    assert end["code"] == "RUNTIME_CRASHED"
    assert "a line of more than" in end["error"]


async def test_a_program_that_ends_says_why_and_is_started_again(talk: Talk, stage: Stage) -> None:
    stage.plays([text("Hi"), ["exit", 3]])
    await talk.host()
    end = await talk.ask("hello")
    assert (end["code"], "exit code 3" in end["error"]) == ("RUNTIME_CRASHED", True)
    assert "it broke" in end["error"]
    stage.plays([answer("again")])
    assert (await talk.ask("hello"))["content"] == "again"
    assert stage.starts()[1][-1] == "--resume=c-1"


async def test_a_program_that_leaves_one_behind_with_its_output_has_ended_all_the_same(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([text("Hi"), ["leave"], ["exit", 3]])
    await talk.host()
    end = await talk.ask("hello")
    assert (end["code"], "exit code 3" in end["error"]) == ("RUNTIME_CRASHED", True)
    await until(lambda: not talk.children())


async def test_a_program_that_does_not_listen_is_killed_on_a_cancel(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([text("Hi"), ["hang"]])
    await talk.host()
    turn = talk.say("hello")
    await talk.event("text_chunk")
    [program] = talk.children()
    talk.send(ipc.Cancel())
    assert (await talk.end(turn))["cancelled"]
    assert not program.is_running()
    stage.plays([answer("again")])
    assert (await talk.ask("hello"))["content"] == "again"


async def test_a_message_that_is_cancelled_before_it_was_read_is_never_done(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([["hang"]])
    await talk.host()
    turn = talk.say("hello")
    await until(lambda: talk.children())
    talk.send(ipc.Cancel())
    assert (await talk.end(turn))["cancelled"]
    await until(lambda: not talk.children())


async def test_a_program_that_is_not_there_is_told_with_the_command_that_installs_it(
    talk: Talk,
) -> None:
    talk.program = ()
    await talk.host()
    end = await talk.ask("hello")
    assert end["code"] == "RUNTIME_UNAVAILABLE"
    assert "trunkline doctor --install claude-code" in end["error"]


async def test_a_program_that_cannot_be_run(talk: Talk, tmp_path: Path) -> None:
    talk.program = (str(tmp_path),)
    await talk.host()
    assert (await talk.ask("hello"))["code"] == "RUNTIME_UNAVAILABLE"


@pytest.mark.parametrize("odd", [None, 7, "x", [], {"a": 1}, ["x"]])
async def test_odd_questions_are_answered_all_the_same(
    talk: Talk, stage: Stage, odd: object
) -> None:
    fields = {"tool_name": odd, "input": odd, "permission_suggestions": odd, "tool_use_id": odd}
    asking = {"tool_name": "AskUserQuestion", "input": {"questions": odd}}
    message = {"subtype": "mcp_message", "server_name": odd, "message": odd}
    stage.plays(
        [
            ["ask", {"subtype": "can_use_tool", **fields}],
            ["ask", {"subtype": "can_use_tool", **asking}],
            ["ask", {"subtype": "hook_callback", "input": odd}],
            ["ask", message],
            ["ask", {"subtype": odd}],
            answer("done"),
        ]
    )
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "done"
    assert len(stage.answers()) == 5


async def test_the_next_message_after_a_cancelled_start_is_answered(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([answer("fine")])
    talk.env["SLOW"] = "yes"
    await talk.host()
    first = talk.say("hello")
    await until(lambda: stage.is_running)
    talk.send(ipc.Cancel())
    second = talk.say("once more")
    assert (await talk.end(first))["cancelled"]
    assert (await talk.end(second))["content"] == "fine"


async def test_a_turn_that_is_cancelled_allows_nothing_any_more(talk: Talk, stage: Stage) -> None:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}}
    stage.plays([text("Hi"), ["until interrupted"], ["ask", asked], ["interrupted"]])
    await talk.host(agent_config={"confirm": "never"})
    turn = talk.say("hello")
    await talk.event("text_chunk")
    talk.send(ipc.Cancel())
    assert (await talk.end(turn))["cancelled"]
    assert stage.answers()[0]["behavior"] == "deny"


async def test_where_every_tool_is_asked_for_that_holds_after_the_turn_too(
    talk: Talk, stage: Stage
) -> None:
    called = {"tool_name": "Read", "tool_input": {"file_path": "x"}}
    stage.plays([answer("done"), ["ask", {"subtype": "hook_callback", "input": called}]])
    await talk.host(agent_config={"confirm": "always"})
    await talk.ask("hello")
    await until(stage.answers)
    assert stage.answers()[0]["hookSpecificOutput"]["permissionDecision"] == "ask"


async def test_tools_that_it_does_not_know_are_not_all_tools(talk: Talk, stage: Stage) -> None:
    stage.plays([answer("done")])
    await talk.host(agent_config={"tools": ["file_read"]})
    await talk.ask("hello")
    assert "--tools=" in stage.starts()[0]


async def test_arguments_hold_no_key_and_no_variables(talk: Talk, stage: Stage) -> None:
    stage.plays([answer("done")])
    server = {"name": "local", "command": "x", "env": {"TOKEN": "secret-of-the-server"}}
    await talk.host(mcp_servers=[server])
    await talk.ask("hello")
    told = json.dumps(stage.told())
    assert "sk-ant-test" not in told
    assert "secret-of-the-server" not in told
    assert "ANTHROPIC_API_KEY" not in stage.told()[0]["env"]


async def test_a_login_of_the_environment_is_used_only_where_no_key_is_given(
    talk: Talk, stage: Stage
) -> None:
    stage.plays([answer("done")])
    talk.env["CLAUDE_CODE_OAUTH_TOKEN"] = "token-of-the-user"
    await talk.host()
    await talk.ask("hello")
    await talk.stop()
    await talk.host(api_keys={})
    await talk.ask("hello")
    with_key, without = [one["env"] for one in stage.told() if "env" in one]
    assert "CLAUDE_CODE_OAUTH_TOKEN" not in with_key
    assert "CLAUDE_CODE_OAUTH_TOKEN" in without


@pytest.mark.parametrize(
    "name", ["--dangerously-skip-permissions", "-c", "", "a b", "a\0", "../x", "x" * 101]
)
async def test_a_conversations_name_that_is_none_becomes_no_argument(
    talk: Talk, stage: Stage, name: str
) -> None:
    folder = talk.home.session("s1")
    folder.mkdir(parents=True)
    saved = {"runtime_type": "claude-code", "state": {"session_id": name}}
    (folder / "runtime.json").write_text(json.dumps(saved))
    stage.plays([answer("done")])
    await talk.host(
        agent_config={"system_prompt": "--help", "model": "--version", "tools": ["--x", "Bash"]},
        session_config={"disallowedTools": ["--dangerously-skip-permissions", "Read", 7]},
    )
    assert (await talk.ask("hello"))["content"] == "done"
    [argv] = stage.starts()
    assert "--append-system-prompt=--help" in argv
    assert "--model=--version" in argv
    assert "--tools=Bash" in argv
    assert argv[argv.index("--disallowedTools") + 1] == "Read"
    assert not [one for one in argv if one.startswith(("--resume", "--dangerously"))]


async def test_a_state_that_is_not_understood_is_none(talk: Talk, stage: Stage) -> None:
    folder = talk.home.session("s1")
    folder.mkdir(parents=True)
    saved = {"runtime_type": "claude-code", "state": {"session_id": 7, "granted": []}}
    (folder / "runtime.json").write_text(json.dumps(saved))
    stage.plays([answer("done")])
    await talk.host()
    assert (await talk.ask("hello"))["content"] == "done"
