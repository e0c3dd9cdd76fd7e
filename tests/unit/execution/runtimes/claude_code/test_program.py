"""The driver against a program that behaves badly, or as older and newer ones do."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.unit.execution.runtimes.claude_code import scripted_claude
from tests.unit.execution.runtimes.claude_code.conftest import Talk
from trunkline.execution.runtimes.claude_code.connection import LINE_BYTES_MAX
from trunkline.execution.session import ipc

Json = dict[str, Any]
IDLE = ["line", {"type": "system", "subtype": "session_state_changed", "state": "idle"}]
RUNS = ["line", {"type": "system", "subtype": "session_state_changed", "state": "running"}]


def text(said: str) -> list[Any]:
    message = {"id": said, "model": "m", "content": [{"type": "text", "text": said}]}
    return ["line", {"type": "assistant", "session_id": "c-1", "message": message}]


def answer(said: str, **fields: Any) -> list[Any]:
    return ["result", {"result": said, **fields}]


class Stage:
    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._told = talk.workspace / "told"
        self._play = talk.workspace / "play"
        talk.program = (sys.executable, scripted_claude.__file__)
        talk.env |= {"PLAY": str(self._play), "TOLD": str(self._told)}

    def plays(self, *turns: list[Any]) -> None:
        self._play.write_text(json.dumps(turns))

    def told(self) -> list[Json]:
        return [json.loads(line) for line in self._told.read_text().splitlines()]

    def starts(self) -> list[list[str]]:
        return [one["argv"] for one in self.told() if "argv" in one]

    @property
    def is_running(self) -> bool:
        return self._told.exists() and bool(self.starts())

    def answers(self) -> list[Json]:
        sent = [one["response"] for one in self.told() if one.get("type") == "control_response"]
        return [one.get("response", one) for one in sent]


@pytest.fixture
def stage(talk: Talk) -> Stage:
    return Stage(talk)


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


async def test_what_is_too_long_to_be_shown_is_not_allowed(talk: Talk, stage: Stage) -> None:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "x" * 300_000}}
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    await talk.ask("hello")
    assert stage.answers()[0]["behavior"] == "deny"
    assert talk.of_type("approval_request") == []


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


async def test_only_what_was_shown_is_granted_for_the_session(talk: Talk, stage: Stage) -> None:
    rule = {"toolName": "Bash", "ruleContent": "npm test *"}
    suggestions = [
        {"type": "addRules", "behavior": "allow", "rules": [rule], "destination": "userSettings"},
        {"type": "addRules", "behavior": "deny", "rules": [rule], "destination": "session"},
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addDirectories", "directories": ["/"], "destination": "session"},
    ]
    asked = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "npm test a"},
        "permission_suggestions": suggestions,
    }
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    assert "Bash(npm test *)" in question["message"]
    talk.reply(question, scope="session")
    await talk.end(turn)
    [said] = stage.answers()
    [granted] = said["updatedPermissions"]
    assert (granted["rules"], granted["destination"]) == ([rule], "session")


PUBLISH = {
    "subtype": "can_use_tool",
    "tool_name": "Bash",
    "input": {"command": "npm publish"},
    "permission_suggestions": [
        {
            "type": "addRules",
            "behavior": "allow",
            "rules": [{"toolName": "Bash", "ruleContent": "npm publish"}],
            "destination": "localSettings",
        }
    ],
}


async def test_a_yes_for_always_is_a_rule_and_is_asked_about_again_when_that_is_taken_back(
    talk: Talk, stage: Stage
) -> None:
    stage.plays(*([["ask", PUBLISH], answer("done")] for _ in range(3)))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    assert question["rule"] == "bash(npm publish)"
    talk.reply(question, scope="always")
    await talk.end(turn)
    await talk.ask("again")
    talk.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = talk.say("and again")
    talk.reply(await talk.question(1), confirmed=False)
    await talk.end(turn)
    assert [one["behavior"] for one in stage.answers()] == ["allow", "allow", "deny"]
    assert not any("updatedPermissions" in one for one in stage.answers())


async def test_a_rule_that_comes_later_denies_what_was_allowed_for_the_session(
    talk: Talk, stage: Stage
) -> None:
    called = {"tool_name": "Bash", "tool_input": PUBLISH["input"]}
    hook = ["ask", {"subtype": "hook_callback", "input": called}]
    stage.plays([["ask", PUBLISH], answer("done")], [hook, ["ask", PUBLISH], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    talk.reply(await talk.question(), scope="session")
    await talk.end(turn)
    rules = [{"effect": "deny", "rule": "bash(npm *)", "level": "user"}]
    talk.send(ipc.ConfigUpdate(data={"rules": rules}))
    await talk.ask("again")
    _, hooked, asked = stage.answers()
    assert hooked["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert asked["behavior"] == "deny"
    assert len(talk.of_type("approval_request")) == 1


async def test_no_rule_is_granted_that_was_not_shown(talk: Talk, stage: Stage) -> None:
    short = [{"toolName": "Bash", "ruleContent": f"{'a' * 100} {n} *"} for n in range(100)]
    long = [{"toolName": "Bash", "ruleContent": "x" * 3_000}, {"ruleContent": "*"}, "Bash"]
    rules = {"type": "addRules", "behavior": "allow", "rules": [*long, *short]}
    asked = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "npm test a"},
        "permission_suggestions": [rules, rules],
    }
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    talk.reply(question, scope="session")
    await talk.end(turn)
    [said] = stage.answers()
    granted = [rule for one in said["updatedPermissions"] for rule in one["rules"]]
    assert granted
    shown = [f"{rule['toolName']}({rule['ruleContent']})" for rule in granted]
    assert all(rule in question["message"] for rule in shown)


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
