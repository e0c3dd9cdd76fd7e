"""The real Claude Code, driven by ours, against a scripted model: what it says and does."""

import base64
import json

import pytest

from tests.support.model_server import Failure, ModelServer, ToolUse, Turn
from tests.unit.execution.runtimes.claude_code.conftest import Talk, bash, real_program
from trunkline.execution.session import ipc

pytestmark = pytest.mark.programs

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63f8cfc0f01f0005000181d84a0d6e0000000049454e44ae426082"
)


@pytest.fixture
def talk(talk: Talk) -> Talk:
    talk.program = real_program()
    return talk


async def test_text_comes_in_pieces_and_a_turn_has_its_own_cost(
    talk: Talk, model: ModelServer
) -> None:
    model.script(Turn(thinking="hm", text="Hello dear world"), Turn(text="Again"))
    await talk.host()
    end = await talk.ask("Hi")
    assert (end["type"], end["content"]) == ("execution_complete", "Hello dear world")
    assert [one["content"] for one in talk.of_type("text_chunk")] == ["Hello", " dear", " world"]
    assert talk.of_type("thinking")[0]["content"] == "hm"
    await talk.ask("And?")
    first, second = talk.of_type("usage")
    assert first["cost_usd"] == pytest.approx(second["cost_usd"])
    assert (second["calls"], second["tokens_in"], second["tokens_out"]) == (1, 11, 7)


async def test_model_workspace_and_system_prompt_are_the_agents(
    talk: Talk, model: ModelServer
) -> None:
    model.script(bash("pwd"), Turn(text="There"))
    await talk.host(agent_config={"system_prompt": "You are Ada.", "model": "claude-haiku-4-5"})
    await talk.ask("where?")
    assert model.requests[0].model == "claude-haiku-4-5"
    assert model.requests[0].system.endswith("You are Ada.")
    assert model.requests[0].headers["x-api-key"] == "sk-ant-test"
    assert talk.of_type("tool_call_complete")[0]["result"] == str(talk.workspace)
    status = [one["ready"] for one in talk.of_type("session_status") if "ready" in one]
    assert [one["work_dir"] for one in status] == [str(talk.workspace)]


async def test_commands_that_it_runs_do_not_see_the_key(talk: Talk, model: ModelServer) -> None:
    model.script(bash("env; cat /proc/$PPID/environ"), Turn(text="Seen"))
    await talk.host()
    await talk.ask("look")
    [seen] = talk.of_type("tool_call_complete")
    assert "ANTHROPIC_BASE_URL" in seen["result"]
    assert "sk-ant-test" not in json.dumps(talk.events)


async def test_a_tool_runs_after_a_yes(talk: Talk, model: ModelServer) -> None:
    model.script(bash("echo hi > made.txt; echo done"), Turn(text="Made"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    question = await talk.question()
    assert question["tool_input"] == {"command": "echo hi > made.txt; echo done"}
    assert not (talk.workspace / "made.txt").exists()
    talk.reply(question)
    assert (await talk.end(turn))["content"] == "Made"
    assert (talk.workspace / "made.txt").read_text() == "hi\n"
    [done] = talk.of_type("tool_call_complete")
    assert (done["tool_name"], done["result"], done["is_error"]) == ("Bash", "done", False)


async def test_a_no_is_told_to_the_model_with_its_reason(talk: Talk, model: ModelServer) -> None:
    model.script(bash("touch never"), Turn(text="As you like"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    talk.reply(await talk.question(), confirmed=False, answer="not today")
    assert (await talk.end(turn))["content"] == "As you like"
    assert not (talk.workspace / "never").exists()
    [done] = talk.of_type("tool_call_complete")
    assert done["is_error"]
    assert "not today" in done["result"]


async def test_a_yes_for_the_session_is_not_asked_for_again_and_outlives_the_process(
    talk: Talk, model: ModelServer
) -> None:
    for _ in range(3):
        model.script(bash("mkdir -p made"), Turn(text="Made"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    question = await talk.question()
    assert "Bash(mkdir -p made)" in question["message"]
    talk.reply(question, scope="session")
    await talk.end(turn)
    await talk.ask("again")
    await talk.stop()
    await talk.host(agent_config={"confirm": "dangerous"})
    await talk.ask("and again")
    assert len(talk.of_type("approval_request")) == 1
    assert not list(talk.workspace.glob(".claude/*"))  # its own settings are as they were


async def test_a_yes_for_always_holds_for_as_long_as_the_rule_does(
    talk: Talk, model: ModelServer
) -> None:
    for _ in range(3):
        model.script(bash("mkdir -p made"), Turn(text="Made"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    question = await talk.question()
    rule = {"effect": "allow", "rule": question["rule"], "level": "user"}
    talk.reply(question, scope="always")
    await talk.end(turn)
    talk.send(ipc.ConfigUpdate(data={"rules": [rule]}))
    await talk.ask("again")
    talk.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = talk.say("and again")
    talk.reply(await talk.question(1), confirmed=False)
    await talk.end(turn)
    assert len(talk.of_type("approval_request")) == 2


async def test_nobody_is_asked_where_nobody_wants_to_be(talk: Talk, model: ModelServer) -> None:
    model.script(bash("touch made"), Turn(text="Made"))
    await talk.host(agent_config={"confirm": "never"})
    await talk.ask("make it")
    assert (talk.workspace / "made").exists()
    assert talk.of_type("approval_request") == []


async def test_where_every_tool_is_asked_for_so_are_those_that_only_look(
    talk: Talk, model: ModelServer
) -> None:
    model.script(bash("ls"), Turn(text="Seen"))
    await talk.host(agent_config={"confirm": "always"})
    turn = talk.say("look")
    talk.reply(await talk.question())
    assert (await talk.end(turn))["content"] == "Seen"


async def test_a_question_in_words_is_answered_in_words(talk: Talk, model: ModelServer) -> None:
    options = [{"label": "red", "description": "fire"}, {"label": "blue", "description": "sky"}]
    question = {"question": "Which?", "header": "Colour", "options": options, "multiSelect": False}
    asking = ToolUse(name="AskUserQuestion", arguments={"questions": [question]})
    model.script(Turn(tool_calls=[asking]), Turn(text="Blue it is"))
    await talk.host()
    turn = talk.say("paint")
    asked = await talk.question()
    assert (asked["kind"], asked["options"]) == ("select", ["red", "blue"])
    talk.reply(asked, answer="blue")
    assert (await talk.end(turn))["content"] == "Blue it is"
    assert '"Which?"="blue"' in model.requests[-1].tool_results[0]


async def test_a_picture_reaches_the_model_and_other_files_the_workspace(
    talk: Talk, model: ModelServer
) -> None:
    model.script(Turn(text="A dot"))
    await talk.host()
    attached = [
        {"name": "dot.png", "mime": "image/png", "base64": base64.b64encode(PIXEL).decode()},
        {"name": "a.txt", "mime": "text/plain", "base64": base64.b64encode(b"hi").decode()},
    ]
    assert (await talk.ask("what?", metadata={"attachments": attached}))["content"] == "A dot"
    said = json.dumps(model.requests[0].messages)
    assert base64.b64encode(PIXEL).decode() in said
    assert (talk.workspace / "attachments" / "a.txt").read_bytes() == b"hi"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("refused_key", "RUNTIME_LOGIN"),
        ("quota", "MODEL_RATE_LIMITED"),
        ("model_not_found", "MODEL_NOT_FOUND"),
        ("context_full", "MODEL_CONTEXT_FULL"),
        ("overloaded", "MODEL_OVERLOADED"),
    ],
)
async def test_what_fails_is_told_with_its_reason_and_the_next_message_works(
    talk: Talk, model: ModelServer, kind: str, code: str
) -> None:
    talk.env["CLAUDE_CODE_MAX_RETRIES"] = "0"
    model.otherwise(lambda request: Turn(failure=Failure(kind=kind)))
    await talk.host()
    end = await talk.ask("Hi")
    model.otherwise(lambda request: Turn(text="Better"))
    assert (end["type"], end["code"]) == ("execution_error", code), end
    assert (await talk.ask("Again"))["content"] == "Better"


async def test_a_provider_that_is_asked_again_is_told_of(talk: Talk, model: ModelServer) -> None:
    model.script(Turn(failure=Failure(kind="overloaded")), Turn(text="Better"))
    await talk.host()
    assert (await talk.ask("Hi"))["content"] == "Better"
    assert "Asking again" in talk.of_type("thinking")[0]["content"]


async def test_as_many_model_calls_as_it_may_make(talk: Talk, model: ModelServer) -> None:
    model.script(bash("ls"), Turn(text="On"))
    await talk.host(agent_config={"max_turns": 1})
    assert (await talk.ask("Hi"))["code"] == "TURN_LIMIT"
    assert (await talk.ask("go on"))["content"] == "On"


async def test_nobody_is_logged_in(talk: Talk, model: ModelServer) -> None:
    await talk.host(api_keys={})
    end = await talk.ask("Hi")
    assert end["code"] == "RUNTIME_LOGIN"
    assert "/login" in end["error"]


async def test_another_model_and_other_words_from_the_next_turn_on(
    talk: Talk, model: ModelServer
) -> None:
    model.otherwise(lambda request: Turn(text="Yes"))
    await talk.host()
    await talk.ask("one")
    talk.send(ipc.ConfigUpdate(data={"model": "claude-haiku-4-5"}))
    await talk.ask("two")
    assert model.requests[-1].model == "claude-haiku-4-5"
    talk.send(ipc.ConfigUpdate(data={"system_prompt": "You are Bob."}))
    await talk.ask("three")
    assert model.requests[-1].system.endswith("You are Bob.")
    assert "one" in json.dumps(model.requests[-1].messages)


async def test_every_line_travels_once_and_unchanged(talk: Talk, model: ModelServer) -> None:
    model.script(bash("echo hi"), Turn(text="Hello world"))
    await talk.host()
    await talk.ask("Hi")
    lines = talk.lines()
    assert len({line["uuid"] for line in lines}) == len(lines)
    kinds = [(line["type"], line.get("subtype")) for line in lines]
    assert kinds[0] == ("system", "init")
    assert kinds[-1] == ("result", "success")
    assert [kind for kind, _ in kinds].count("user") == 1
    deltas = [one["event"].get("delta", {}) for one in lines if one["type"] == "stream_event"]
    assert "".join(one.get("text", "") for one in deltas) == "Hello world"
    assert {list(one)[-1] for one in talk.events if "raw" in one} == {"raw"}
