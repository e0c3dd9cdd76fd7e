"""Turns with an ACP agent, of either generation: what it says, how it ends, what it is told."""

import base64
import json
import os
import signal

import pytest

from tests.unit.execution.runtimes.acp.conftest import AGENT, Acp
from trunkline.execution.session import ipc

IMAGE = {"name": "dot.png", "mime": "image/png", "base64": base64.b64encode(b"\x89PNG").decode()}
NOTE = {"name": "n.txt", "mime": "text/plain", "base64": base64.b64encode(b"a note").decode()}
BLOB = {"name": "x.bin", "mime": "", "base64": base64.b64encode(b"\xff\xfe\0").decode()}


async def test_a_turn_streams_and_ends_with_the_answer(acp: Acp) -> None:
    await acp.host()
    end = await acp.play({"say": "Hello"}, {"say": " there"})
    assert (end["type"], end["content"]) == ("execution_complete", "Hello there")
    assert acp.text == "Hello there"
    [status] = acp.of("session_status")
    ready = status["ready"]
    assert ready["agent"] == {"name": "Scripted", "version": "1.2"}
    assert ready["model_info"] == {"model": "One", "models": ["One", "Two"]}
    assert (ready["mode"], ready["modes"]) == ("Ask", ["Ask", "Plan"])
    assert ready["session_id"] == status["resume"]["session_id"]
    assert status["resume"]["folder"] == str(acp.home.workspace)


async def test_ready_does_not_wait_for_the_agent(acp: Acp) -> None:
    await acp.host(agent_config={"acp": {"command": ["/does/not/exist"]}})
    assert acp.ready is not None
    end = await acp.play({"say": "Hello"})
    assert end["code"] == "RUNTIME_UNAVAILABLE"
    assert "/does/not/exist" in end["error"]


async def test_a_preset_that_is_not_installed_says_how_it_is(acp: Acp) -> None:
    nowhere = {"PATH": str(acp.home.root)}
    await acp.host(env=nowhere, agent_config={"acp": {"preset": "opencode"}})
    end = await acp.play()
    assert end["code"] == "RUNTIME_UNAVAILABLE"
    assert "trunkline doctor --install opencode" in end["error"]


@pytest.mark.parametrize(
    "config",
    [
        *(None, 7, {}, {"preset": "emacs"}, {"preset": 7}, {"command": "ls"}, {"command": []}),
        *({"command": ["x\0y"]}, {"command": ["x"] * 1000}, {"command": [""]}),
        {"command": ["x"], "env": {"A=B": "c"}},
    ],
)
async def test_a_configuration_that_names_no_program_says_what_is_wrong(
    acp: Acp, config: object
) -> None:
    await acp.host(agent_config={"acp": config})
    end = await acp.play()
    assert end["code"] == "RUNTIME_UNAVAILABLE"
    assert "acp" in end["error"].lower() or "ACP" in end["error"]


@pytest.mark.proves("notes-3-acp-names")
async def test_agents_of_the_older_generation_are_understood(acp: Acp) -> None:
    await acp.host("--older")
    end = await acp.play(
        {"notify": ["session/agent_thought", {"text": "Hm"}]},
        {"notify": ["session/tool_call", {"id": "t", "name": "bash", "input": {"command": "ls"}}]},
        {"notify": ["session/tool_result", {"id": "t", "content": "a.txt"}]},
        {"say": "One file."},
        {"end": {"usage": {"inputTokens": 5, "outputTokens": 2}}},
    )
    assert end["content"] == "One file."
    [done] = acp.of("tool_call_complete")
    assert (done["tool_name"], done["result"]) == ("bash", "a.txt")
    [usage] = acp.of("usage")
    assert (usage["tokens_in"], usage["tokens_out"]) == (5, 2)
    turn = acp.begin({"say": "…"}, {"wait": True})
    await acp.until(lambda: acp.of("text_chunk", turn))
    acp.send(ipc.Cancel())
    assert (await acp.end(turn))["cancelled"] is True
    assert (await acp.play({"say": "again"}))["content"] == "again"


async def test_a_cancelled_turn_ends_once_and_the_talk_goes_on_in_the_same_process(
    acp: Acp,
) -> None:
    await acp.host()
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "kind": "execute",
        "rawInput": {"x": 1},
    }
    turn = acp.begin({"say": "…"}, {"update": call}, {"wait": True})
    await acp.event("tool_call_start")
    acp.send(ipc.Cancel())
    end = await acp.end(turn)
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    [done] = acp.of("tool_call_complete")
    assert (done["is_error"], done["result"]) == (True, "cancelled")
    assert (await acp.play({"heard": "session/new"}))["content"].count("cwd") == 1
    assert acp.ends(turn) == [end]


async def test_an_agent_that_takes_no_notice_of_a_cancel_is_killed_and_goes_on(acp: Acp) -> None:
    await acp.host("--deaf")
    turn = acp.begin({"spawn": ["sleep", "600"]}, {"wait": True})
    escaped = int((await acp.event("text_chunk"))["content"])
    acp.send(ipc.Cancel())
    assert (await acp.end(turn))["cancelled"] is True
    end = await acp.play({"heard": "session/load"})
    assert len(json.loads(end["content"])) == 1
    # It holds the agent's pipes, and ends with a session's process; here the test is that one.
    os.kill(escaped, signal.SIGKILL)


@pytest.mark.parametrize(
    ("step", "how"), [({"kill": True}, "SIGKILL"), ({"exit": 3}, "exit code 3"), ({"exit": 0}, "0")]
)
async def test_an_agent_that_dies_ends_its_turn_and_goes_on_with_the_next(
    acp: Acp, step: dict[str, object], how: str
) -> None:
    await acp.host()
    turn = acp.begin({"say": "half"}, step)
    end = await acp.end(turn)
    assert (end["type"], end["code"]) == ("execution_error", "RUNTIME_CRASHED")
    assert how in end["error"]
    if "exit" in step:
        assert "last words" in end["error"]
    end = await acp.play({"heard": "session/load"}, history=[{"role": "user", "content": "x"}])
    assert len(json.loads(end["content"])) == 1
    assert "what was said before" not in acp.text
    assert acp.ends(turn)[0] is acp.ends(turn)[-1]


async def test_a_session_goes_on_in_a_new_process(acp: Acp) -> None:
    await acp.host("--resume")
    first = await acp.play({"heard": "session/new"})
    assert await acp.stop() == 0
    await acp.host("--resume")
    again = await acp.play({"heard": "session/resume"})
    [resumed] = json.loads(again["content"])
    assert resumed["cwd"] == json.loads(first["content"])[0]["cwd"]


async def test_an_agent_without_memory_is_told_what_was_said(acp: Acp) -> None:
    await acp.host("--no-load")
    await acp.play({"say": "first"})
    assert await acp.stop() == 0
    await acp.host("--no-load", agent_config={"system_prompt": "Be brief."})
    history = [
        {"role": "user", "content": "What is blue?"},
        {"role": "assistant", "content": "The sky."},
        {"role": "tool", "content": "not told"},
        {"role": "user", "content": ["no text"]},
    ]
    end = await acp.play({"heard": "session/prompt"}, history=history)
    blocks = json.loads(end["content"])[0]["prompt"]
    texts = [one["text"] for one in blocks]
    assert texts[0].endswith("Be brief.")
    assert texts[1].endswith("user: What is blue?\n\nassistant: The sky.")
    end = await acp.play({"heard": "session/prompt"}, history=history)
    assert len(json.loads(end["content"])[1]["prompt"]) == 1


async def test_images_and_files_go_to_an_agent_that_can_take_them(acp: Acp) -> None:
    await acp.host()
    metadata = {"attachments": [IMAGE, NOTE, BLOB, {"name": "bad", "base64": "?"}]}
    end = await acp.play({"heard": "session/prompt"}, metadata=metadata)
    text, image, note, blob = json.loads(end["content"])[0]["prompt"]
    assert "bad could not be kept" in text["text"]
    assert (image["type"], image["data"]) == ("image", IMAGE["base64"])
    assert (note["type"], note["resource"]["text"]) == ("resource", "a note")
    assert blob["type"] == "resource_link"
    assert blob["uri"] == (acp.home.workspace / "attachments" / "x.bin").as_uri()


async def test_an_agent_that_takes_only_text_gets_links_to_files_in_the_workspace(acp: Acp) -> None:
    await acp.host("--plain")
    metadata = {"attachments": [IMAGE, NOTE]}
    end = await acp.play({"heard": "session/prompt"}, metadata=metadata)
    _, image, note = json.loads(end["content"])[0]["prompt"]
    assert {image["type"], note["type"]} == {"resource_link"}
    assert (acp.home.workspace / "attachments" / "dot.png").read_bytes() == b"\x89PNG"


async def test_modes_and_models_are_chosen_by_name_and_change_while_it_runs(acp: Acp) -> None:
    await acp.host(agent_config={"model": "two", "mode": "plan"})
    await acp.play()
    acp.send(ipc.ConfigUpdate(data={"model": "One", "mode": "Ask"}))
    end = await acp.play(
        {"heard": "session/set_config_option"}, {"say": "|"}, {"heard": "session/set_mode"}
    )
    models, modes = map(json.loads, end["content"].split("|"))
    assert [one["value"] for one in models] == ["acme/two", "acme/one"]
    assert [one["modeId"] for one in modes] == ["x#plan", "x#ask"]


async def test_a_mode_or_a_model_that_the_agent_has_not_is_refused_with_what_it_has(
    acp: Acp,
) -> None:
    await acp.host(agent_config={"mode": "yolo"})
    end = await acp.play({"say": "no"})
    assert end["code"] == "RUNTIME_FAILED"
    assert "Ask, Plan" in end["error"]
    acp.send(ipc.ConfigUpdate(data={"mode": "", "model": "three"}))
    end = await acp.play({"say": "no"})
    assert end["code"] == "MODEL_NOT_FOUND"
    assert "One, Two" in end["error"]
    assert acp.text == ""


async def test_an_agent_that_offers_no_choice_keeps_its_model(acp: Acp) -> None:
    await acp.host("--plain", agent_config={"model": "three"})
    assert (await acp.play({"say": "Hi"}))["content"] == "Hi"


async def test_local_mcp_servers_are_given_to_the_agent(acp: Acp) -> None:
    servers = [
        {"name": "time", "command": "cat", "args": ["-u"], "env": {"A": "b"}},
        {"name": "far", "type": "remote"},
    ]
    await acp.host(mcp_servers=servers)
    assert acp.ready is not None
    assert any("far" in problem for problem in acp.ready.problems)
    [given] = json.loads((await acp.play({"heard": "session/new"}))["content"])
    [server] = given["mcpServers"]
    assert server["command"].endswith("/cat")
    assert (server["args"], server["env"]) == (["-u"], [{"name": "A", "value": "b"}])


async def test_an_agent_that_wants_a_login_gets_what_the_environment_has(acp: Acp) -> None:
    acp_config = {"command": [*AGENT, "--login", "SOME_KEY"], "env": {"SOME_KEY": "k"}}
    await acp.host(agent_config={"acp": acp_config})
    end = await acp.play({"heard": "authenticate"})
    assert json.loads(end["content"]) == [{"methodId": "k"}]


async def test_an_agent_that_wants_a_login_goes_on_with_its_session_too(acp: Acp) -> None:
    acp_config = {"command": [*AGENT, "--login", "SOME_KEY"], "env": {"SOME_KEY": "k"}}
    await acp.host(agent_config={"acp": acp_config})
    await acp.play({"say": "first"})
    assert await acp.stop() == 0
    await acp.host(agent_config={"acp": acp_config})
    end = await acp.play({"heard": "session/new"})
    assert json.loads(end["content"]) == []


async def test_where_nobody_is_logged_in_the_agent_says_what_to_do(acp: Acp) -> None:
    await acp.host("--login", "SOME_KEY")
    end = await acp.play({"say": "no"})
    assert end["code"] == "RUNTIME_LOGIN"
    assert "Authentication required" in end["error"]
    assert "run `x login`" in end["error"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Internal error: it broke", "RUNTIME_FAILED"),
        ("Incorrect API key provided", "RUNTIME_LOGIN"),
    ],
)
async def test_an_error_of_the_agent_is_told_in_its_own_words(
    acp: Acp, words: str, code: str
) -> None:
    await acp.host()
    end = await acp.play({"fail": [-32603, words]})
    assert (end["type"], end["code"]) == ("execution_error", code)
    assert words in end["error"]
    assert (await acp.play({"say": "on"}))["content"] == "on"


async def test_an_adapter_whose_program_has_ended_tells_of_a_crash(acp: Acp) -> None:
    await acp.host()
    end = await acp.play({"fail": [1001, "it was killed by SIGKILL"]})
    assert end["code"] == "RUNTIME_CRASHED"
    assert "SIGKILL" in end["error"]


async def test_a_new_session_gets_its_title_from_us_where_the_agent_takes_one(acp: Acp) -> None:
    await acp.host("--titles")
    end = await acp.play({"heard": "session/set_title"})
    [told] = json.loads(end["content"])
    assert told["title"].startswith('[{"heard"')


async def test_a_conversation_that_somebody_else_has_open_is_not_begun_anew(acp: Acp) -> None:
    await acp.host()
    await acp.play({"say": "on"})
    assert await acp.stop() == 0
    await acp.host("--in-use")
    end = await acp.play({"say": "on"})
    assert end["code"] == "RUNTIME_FAILED"
    assert "open in a terminal" in end["error"]


@pytest.mark.parametrize(
    ("reason", "code"), [("refusal", "MODEL_REFUSED"), ("max_turn_requests", "TURN_LIMIT")]
)
async def test_an_end_that_is_none_is_an_error(acp: Acp, reason: str, code: str) -> None:
    await acp.host()
    assert (await acp.play({"end": {"stopReason": reason}}))["code"] == code


async def test_totals_of_the_session_become_the_turns_share_also_after_a_restart(acp: Acp) -> None:
    await acp.host()
    cost = {"sessionUpdate": "usage_update", "used": 1, "size": 9}
    for total, usd in ((100, 0.5), (130, 0.75)):
        await acp.play(
            {"update": {**cost, "cost": {"amount": usd, "currency": "USD"}}},
            {"end": {"usage": {"inputTokens": total, "outputTokens": total // 10}}},
        )
    await acp.stop()
    await acp.host()
    await acp.play({"end": {"usage": {"inputTokens": 140, "outputTokens": 14}}})
    await acp.play({"end": {"usage": {"inputTokens": 7, "outputTokens": 1}}})
    told = [(one["tokens_in"], one["tokens_out"]) for one in acp.of("usage")]
    assert told == [(100, 10), (30, 3), (10, 1), (7, 1)]
    assert [one.get("cost_usd") for one in acp.of("usage")] == [0.5, 0.25, None, None]


async def test_what_is_no_message_is_passed_over(acp: Acp) -> None:
    await acp.host()
    lines = ["a log line", "[1, 2]", '{"id": {}}', '{"method": 7}', "[" * 100, "", '{"id": 99}']
    end = await acp.play(*({"raw": line} for line in lines), {"say": "still here"})
    assert end["content"] == "still here"


async def test_a_message_beyond_all_bounds_ends_the_agent_and_nothing_else(acp: Acp) -> None:
    await acp.host()
    end = await acp.play({"raw": "x" * (11 * 2**20)})
    assert end["code"] == "RUNTIME_CRASHED"
    assert (await acp.play({"say": "on"}))["content"] == "on"


async def test_keys_are_in_the_agents_environment_and_not_on_the_disk(acp: Acp) -> None:
    await acp.host(agent_config={"model": "gpt-x", "acp": {"command": [*AGENT, "--plain"]}})
    end = await acp.play({"env": "OPENAI_API_KEY"})
    assert end["content"] == '"sk-test"'
    await acp.stop()
    for path in acp.home.root.rglob("*"):
        assert not path.is_file() or b"sk-test" not in path.read_bytes(), path
