"""Sessions of the OpenClaw runtime: what they are given, say and ask, and how they end."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import pids
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.runtimes.openclaw.conftest import Machine, environment_of
from trunkline.execution.errors import RequestFailed

pytestmark = pytest.mark.slow

Json = dict[str, Any]


@pytest.mark.proves("004-4.4-bridge-process", "004-4.8-openclaw-folder")
async def test_a_session_is_a_node_process_with_the_documented_environment(
    machine: Machine,
) -> None:
    await machine.start()
    env = environment_of(machine.bridge())
    folder = machine.home.session("s-1")
    assert env["SESSION_ID"] == "s-1"
    assert env["SKILLS_CACHE_DIR"] == str(machine.home.skills)
    assert env["MEMORY_DIR"] == str(folder / "openclaw-memory")
    assert env["SOCKET_PATH"].endswith(".sock")
    assert (folder / "openclaw-memory").is_dir()
    assert Path(f"/proc/{machine.bridge()}/exe").resolve().name == "node"


@pytest.mark.proves("004-4.4-start-and-ready")
async def test_a_session_is_ready_before_the_gateway_runs_and_gets_its_settings(
    machine: Machine,
) -> None:
    agent = {"system_prompt": "Be kind.", "temperature": 0.5, "max_tokens": 77}
    await machine.start(
        agent_config=agent,
        openclaw_config={"tool_profile": "minimal", "skills": ["weather"]},
    )
    assert machine.openclaw.gateway.pid is None
    found = await machine.settings()
    assert found["entry"]["params"] == {"temperature": 0.5, "maxTokens": 77}
    assert found["entry"]["model"] == "openai/gpt-x"
    assert found["entry"]["tools"]["profile"] == "minimal"
    assert found["entry"]["skills"] == ["weather"]
    assert found["entry"]["workspace"].endswith("/s-1/openclaw-memory")
    assert found["told"]["extraSystemPrompt"] == "Be kind."
    assert found["key"] == "sk-first-of-all"


@pytest.mark.proves("004-4.4-messages-and-cancel", "004-4.6-text", "004-4.6-end")
@pytest.mark.proves("004-4.1-readers-see-no-runtime", "000-7-openclaw-events-translated")
@pytest.mark.proves("004-4.6-unknown-events")
async def test_what_openclaw_says_are_the_events_that_every_runtime_has(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    end = await machine.say("say Good morning.")
    assert (end["type"], end["content"]) == ("execution_complete", "Good morning.")
    kinds = [event["type"] for event in line.events("s-1") if event["type"] != "thinking"]
    assert kinds == ["text_chunk", "usage", "execution_complete"]
    assert line.events("s-1", "text_chunk")[0]["content"] == "Good morning."


@pytest.mark.proves("004-4.6-thinking")
async def test_thinking_has_the_stage_openclaw(machine: Machine, line: RecordingLine) -> None:
    await machine.start()
    await machine.say("think of cats")
    assert [event["stage"] for event in line.events("s-1", "thinking")] == ["openclaw"] * len(
        line.events("s-1", "thinking")
    )
    assert "of cats" in [event["content"] for event in line.events("s-1", "thinking")]


@pytest.mark.proves("004-4.6-tools")
async def test_a_tool_is_shown_when_it_starts_and_when_it_is_done(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    await machine.say("run ls")
    [started], [done] = (line.events("s-1", f"tool_call_{one}") for one in ("start", "complete"))
    assert (started["tool_name"], started["tool_input"]) == ("exec", {"command": "ls"})
    assert done["result"] == "ls"
    assert line.events("s-1", "approval_request") == []


async def test_openclaws_approvals_are_ours(machine: Machine, line: RecordingLine) -> None:
    await machine.start(agent_config={"confirm": "dangerous"})
    line.say("s-1", "run rm -rf build")
    asked = await line.until("s-1", "approval_request")
    assert asked["tool_input"]["command"] == "rm -rf build"
    line.tell("s-1", "approval_response", request_id=asked["request_id"], confirmed=False)
    await line.end_of("s-1")
    assert line.events("s-1", "tool_call_complete")[0]["result"] == "A person did not allow this."
    audits = [one for one in line.reports if one[1] == "audit_log"]
    assert audits[0][2]["details"]["confirmed"] is False


async def test_rules_and_modes_hold_for_openclaws_own_tools(
    machine: Machine, line: RecordingLine
) -> None:
    """Its bridge knew neither: a session that only plans could change everything."""
    await machine.start(agent_config={"permission_mode": "plan"})
    await machine.say("run rm -rf build")
    [refused] = line.events("s-1", "tool_call_complete")
    assert "this session only plans" in refused["result"]
    rules = [{"effect": "deny", "rule": "bash(rm *)", "level": "user"}]
    line.tell("s-1", "config_update", permission_mode=None, rules=rules)
    await machine.say("run rm -rf build", "t-2")
    assert "a rule of the user denies it" in line.events("s-1", "tool_call_complete")[1]["result"]
    await machine.say("run ls", "t-3")
    assert line.events("s-1", "tool_call_complete")[2]["result"] == "ls"


@pytest.mark.proves("000-5.6-bridge-reports-the-end")
async def test_a_cancel_is_one_execution_complete_and_the_session_goes_on(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    line.say("s-1", "hold")
    await line.until("s-1", "text_chunk")
    line.tell("s-1", "cancel")
    end = await line.end_of("s-1")
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    assert (await machine.say("say Again.", "t-2"))["content"] == "Again."
    assert len(line.events("s-1", "execution_complete")) == 2


@pytest.mark.proves("004-4.7-openclaw-loader", "004-4.6-skills")
@pytest.mark.proves("004-4.4-requests-are-passed-on", "004-4.1-runtimes-share-the-machine")
async def test_a_missing_skill_is_fetched_into_the_shared_cache_and_its_reading_is_shown(
    machine: Machine, line: RecordingLine
) -> None:
    asked: list[tuple[str, Json]] = []
    guide = "---\nname: pdf-tools\ndescription: x\n---\nDo it.\n"

    async def answer(_session: str, method: str, params: Json) -> Json:
        asked.append((method, params))
        return {"package": {"version": "v1", "files": [{"path": "SKILL.md", "content": guide}]}}

    line.answer = answer
    await machine.start(skill_index=[{"id": "pdf", "name": "PDF", "version": "v1"}])
    file = machine.home.skills / "pdf" / "SKILL.md"
    await machine.say(f"skill {file}")
    assert asked == [("get_skill_package", {"skill_id": "pdf", "version": "v1"})]
    assert file.read_text() == guide
    [started], [done] = (line.events("s-1", f"skill_call_{one}") for one in ("start", "complete"))
    assert (started["skill_name"], done["result"]) == ("pdf-tools", guide)
    assert (await machine.settings())["entry"]["skills"] == ["pdf-tools"]
    assert len(asked) == 1


async def test_a_skill_that_cannot_be_had_is_told_and_the_turn_goes_on(
    machine: Machine, line: RecordingLine
) -> None:
    async def answer(_session: str, _method: str, _params: Json) -> Json:
        raise RequestFailed("SKILL_NOT_FOUND", "no such skill")

    line.answer = answer
    await machine.start(skill_index=[{"id": "pdf", "name": "PDF"}])
    assert (await machine.say("say Fine."))["content"] == "Fine."
    told = [event["content"] for event in line.events("s-1", "thinking")]
    assert any("PDF cannot be used: no such skill" in text for text in told)


@pytest.mark.proves("004-4.6-end")
async def test_what_openclaw_calls_an_error_is_one_with_its_words(machine: Machine) -> None:
    await machine.start()
    end = await machine.say("fail 401 Incorrect API key provided")
    assert (end["type"], end["code"]) == ("execution_error", "MODEL_KEY_REFUSED")
    assert end["error"] == "401 Incorrect API key provided"
    assert (await machine.say("say Better.", "t-2"))["content"] == "Better."


@pytest.mark.proves("004-4.10-bridge-crash", "004-4.4-error-is-an-event")
async def test_a_bridge_that_is_killed_is_the_error_of_its_session_alone(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start("s-1")
    await machine.start("s-2")
    await machine.say("say Up.", "t-0", "s-1")
    line.say("s-1", "hold")
    line.say("s-2", "hold")
    await line.until("s-1", "text_chunk", 2)
    await line.until("s-2", "text_chunk")
    os.kill(machine.bridge("s-1"), signal.SIGKILL)
    end = await line.end_of("s-1")
    assert (end["code"], end["signal"]) == ("SESSION_CRASHED", "SIGKILL")
    line.tell("s-2", "cancel")
    assert (await line.end_of("s-2"))["cancelled"] is True
    assert (await machine.say("say Back.", "t-2"))["content"] == "Back."


async def test_what_openclaw_does_for_a_bridge_that_is_killed_ends_with_it(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    line.say("s-1", "hold")
    await line.until("s-1", "text_chunk")
    os.kill(machine.bridge(), signal.SIGKILL)
    await line.end_of("s-1")
    await until((machine.home.workspace / "aborted").exists, bool)


@pytest.mark.proves("004-4.4-stop")
async def test_a_bridge_that_does_not_stop_in_its_time_is_killed_and_its_socket_gone(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    bridge = machine.bridge()
    os.kill(bridge, signal.SIGSTOP)
    await machine.manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    await pids.until_gone(bridge)
    assert list(machine.home.run.glob("*.sock")) == []


@pytest.mark.proves("004-4.4-snapshot")
async def test_a_snapshot_names_runtime_and_session_and_carries_the_notes(
    machine: Machine,
) -> None:
    await machine.start()
    memory = machine.home.session("s-1") / "openclaw-memory"
    (memory / "memory").mkdir()
    (memory / "memory" / "today.md").write_text("milk")
    (memory / "photo.bin").write_bytes(b"\0")
    adapter = machine.manager.active_sessions["s-1"].adapter
    snapshot = await adapter.get_snapshot()
    assert snapshot["runtime_type"] == "openclaw"
    assert snapshot["session_id"] == "s-1"
    assert snapshot["memory"] == {"memory/today.md": "milk"}
    (memory / "memory" / "today.md").unlink()
    hostile = {"../evil.md": "x", "/etc/evil.md": "x", "a.sh": "x", "b.md": 7}
    await adapter.restore({"memory": {**snapshot["memory"], **hostile}})
    assert (memory / "memory" / "today.md").read_text() == "milk"
    assert sorted(one.name for one in memory.rglob("*") if one.is_file()) == [
        "photo.bin",
        "today.md",
    ]


async def test_new_settings_hold_from_the_next_turn_on(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    before = await machine.settings("t-1")
    line.tell("s-1", "config_update", model="gpt-other", temperature=1.5)
    after = await machine.settings("t-2")
    assert before["entry"]["model"] == "openai/gpt-x"
    assert after["entry"]["model"] == "openai/gpt-other"
    assert after["entry"]["params"] == {"temperature": 1.5}


async def test_two_sessions_speak_at_once(machine: Machine, line: RecordingLine) -> None:
    await asyncio.gather(machine.start("s-1"), machine.start("s-2"))
    one, two = await asyncio.gather(
        machine.say("say One.", "t-1", "s-1"), machine.say("say Two.", "t-1", "s-2")
    )
    assert (one["content"], two["content"]) == ("One.", "Two.")
