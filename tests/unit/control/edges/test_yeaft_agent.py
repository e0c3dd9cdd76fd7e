"""What a Yeaft agent says outside of sessions, and what it is told unread."""

import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.support.eventually import eventually
from tests.unit.control.edges.yeaft_line import World, world
from trunkline import limits
from trunkline.control.edges.yeaft_agent.host import YeaftAgentHost
from trunkline.control.ids import new_id
from trunkline.control.sessions.records import NewSession
from trunkline.control.sessions.starting import Starting
from trunkline.control.tuning import Tuning
from trunkline.wire import actions
from trunkline.wire.commands import Forward, Start


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path / "data") as made:
        yield made


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"llm_config","models" : [1.50, "é"]}',
        '{"type":"mcp_servers_list","servers":[]}',
        '{ "type":"yeaft_settings","a":{"b":null}}',
        '{"type":"folders_list","requestId":7,"folders":["/srv"]}',
        '{"type":"history_sessions_list","sessions":[{"sessionId":"x"}]}',
        '{"type":"never_heard_of","deep":{"conversationId":"x"}}',
        '{"type":"crew_output","sessionId":"crew_1","role":"r","data":{}}',
        '{"type":"yeaft_output","conversationId":"yeaft-virtual-1","vpId":"a","data":{}}',
        '{"type":"unify_output","sessionId":"1a1de681-1870-4ed6-bf7b-0f808277ad3a","data":{}}',
        '{"type":"slash_commands_update","conversationId":"__preload__"}',
    ],
)
async def test_what_belongs_to_no_session_reaches_the_users_clients_as_it_came(
    here: World, text: str
) -> None:
    heard: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda *told: heard.append(told))
    here.core.relay.listen("yeaft", new_id(), lambda *told: others.append(told))
    here.core.relay.listen("agp", here.who.user_id, lambda *told: others.append(told))
    here.line.hear(text)
    assert heard == [(here.machine_id, text)]
    assert others == []
    assert here.line.of_type("error") == []


@pytest.mark.parametrize("kind", ["agent_status", "conversation_list", "agent_sync_complete"])
async def test_what_an_agent_says_of_itself_is_for_us(here: World, kind: str) -> None:
    heard: list[tuple[str, str]] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda *told: heard.append(told))
    here.line.hear({"type": kind, "state": "busy", "conversations": []})
    assert heard == []
    assert here.line.of_type("error") == []


@pytest.mark.parametrize(
    "kind", ["claude_output", "session_ready", "turn_completed", "ask_user_question"]
)
async def test_a_conversation_that_is_nobodys_is_refused(here: World, kind: str) -> None:
    here.line.hear({"type": kind, "conversationId": "no-such", "requestId": "q", "data": {}})
    (error,) = here.line.of_type("error")
    assert (error["code"], error["conversationId"]) == ("SESSION_NOT_FOUND", "no-such")


async def test_a_status_is_told_to_whoever_watches_machines(here: World) -> None:
    seen: list[object] = []
    here.core.signals.machines.watch(lambda machine: seen.append(dict(machine.health)))
    here.line.hear({"type": "agent_status", "state": "busy", "load": 0.5})
    here.line.hear({"type": "agent_status", "state": "busy", "load": 0.5})
    base = {"name": "builder", "workDir": "/srv/project"}
    assert seen == [{**base, "state": "busy", "load": 0.5}]


async def test_of_a_status_that_is_too_large_the_state_is_taken(here: World) -> None:
    pad = "x" * limits.HEALTH_BYTES_MAX
    here.line.hear({"type": "agent_status", "state": "idle", "pad": pad})
    machine = here.core.machines.find(here.machine_id)
    assert machine is not None
    assert machine.health == {"name": "builder", "workDir": "/srv/project", "state": "idle"}


async def test_an_unknown_message_of_a_conversation_is_kept_in_its_log(here: World) -> None:
    session = await here.session()
    text = f'{{"type":"context_usage","conversationId":"{session}","percentage" : 12.50}}'
    here.line.hear(text)
    await here.core.log.flushed()
    found = await here.core.sessions.events(here.who, session, 0, 100)
    assert text in found[-1].data
    assert json.loads(found[-1].data)["type"] == "foreign"


async def test_a_crew_that_is_a_session_of_ours_is_kept_in_its_log(here: World) -> None:
    session = await here.session()
    here.line.hear({"type": "crew_output", "sessionId": session, "role": "r", "data": {}})
    last = (await here.events(session))[-1]
    assert (last["type"], last["name"]) == ("foreign", "crew_output")


@pytest.mark.parametrize("kind", ["crew_output", "never_heard_of"])
async def test_an_id_of_our_form_that_is_nobodys_session_is_the_agents_own(
    here: World, kind: str
) -> None:
    heard: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: heard.append(text))
    own = new_id()
    texts = [f'{{"type":"{kind}","sessionId":"{own}","n":{number}}}' for number in range(4)]
    for text in texts:
        here.line.hear(text)

    async def count() -> int:
        return len(heard)

    await eventually(count, lambda found: found == len(texts))
    assert sorted(heard) == sorted(texts)
    assert [one for one in heard if one in texts[:3]] == texts[:3]  # in their order
    assert here.line.of_type("error") == []


async def test_a_conversation_of_our_form_is_refused_whether_it_is_anybodys_or_not(
    here: World,
) -> None:
    heard: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: heard.append(text))
    nobodys = new_id()
    here.line.hear({"type": "never_heard_of", "conversationId": nobodys, "requestId": "r"})
    (error,) = here.line.of_type("error")
    assert (error["code"], error["conversationId"]) == ("SESSION_NOT_FOUND", nobodys)
    assert heard == []


async def test_a_bare_session_id_of_an_unknown_message_is_no_conversation(here: World) -> None:
    heard: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: heard.append(text))
    session = await here.session()
    before = await here.events(session)
    text = f'{{"type":"never_heard_of","sessionId":"{session}"}}'
    here.line.hear(text)
    assert heard == [text]
    assert await here.events(session) == before


@pytest.mark.parametrize("odd", ["5", '{"a":1}', "[]"])
async def test_odd_ids_in_messages_that_only_pass_are_no_fault(here: World, odd: str) -> None:
    heard: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: heard.append(text))
    texts = [f'{{"type":"odd","{name}":{odd}}}' for name in ("sessionId", "conversationId")]
    for text in texts:
        here.line.hear(text)
    assert heard == texts
    here.line.hear(f'{{"type":"turn_completed","conversationId":{odd}}}')
    assert here.line.of_type("error")[0]["code"] == "INVALID_REQUEST"


async def test_a_clients_message_passes_unchanged(here: World) -> None:
    session = await here.session()
    for session_id in ("", session):
        text = f'{{ "type":"yeaft_session_chat","groupId":"g","n" : 1.50,"s":"{session_id}"}}'
        here.line.deliver(Forward(session_id, "yeaft", text))
        assert here.line.texts[-1] == text


async def test_a_message_of_another_protocol_does_not_pass(here: World) -> None:
    before = list(here.line.texts)
    here.line.deliver(Forward("", "agp", '{"method":"session.prompt"}'))
    assert here.line.texts == before


async def test_a_clients_message_waits_for_the_conversation_to_be_there(here: World) -> None:
    session = await here.session(ready=False)
    for number in range(limits.YEAFT_FORWARDS_MAX + 5):
        here.line.deliver(Forward(session, "yeaft", f'{{"type":"custom","n":{number}}}'))
    assert here.line.of_type("custom") == []
    here.line.hear({"type": "session_ready", "conversationId": session})
    numbers = [one["n"] for one in here.line.of_type("custom")]
    assert numbers == list(range(limits.YEAFT_FORWARDS_MAX))


@pytest.mark.parametrize("kind", ["crew_output", "terminal_output", "context_usage", "btw_stream"])
async def test_what_a_registered_agent_says_is_not_counted(tmp_path: Path, kind: str) -> None:
    async with world(tmp_path / "data", rate_limit_per_minute=10) as here:
        session = await here.turn()
        for _ in range(50):
            here.line.hear({"type": kind, "conversationId": session, "data": {}})
            here.line.hear({"type": kind, "sessionId": "crew_1", "data": {}})
            here.line.hear({"type": "conversation_list", "conversations": []})
        assert here.line.close_code is None


async def test_broken_messages_are_counted(tmp_path: Path) -> None:
    async with world(tmp_path / "data", rate_limit_per_minute=10) as here:
        for _ in range(10):
            here.line.hear("{")
        assert here.line.close_code == 4029


async def test_a_conversation_is_resumed_with_what_it_was_created_with(here: World) -> None:
    chosen = {"work_dir": "/srv/x", "disallowed_tools": ["Bash"], "options": {"model": "m"}}
    new = NewSession(machine_id=here.machine_id, session_config=chosen)
    session = (await here.core.sessions.create(here.who, new)).id
    created = await here.line.until("create_conversation")
    here.line.hear({"type": "session_ready", "conversationId": session, "sessionId": "own"})
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "go")
    resumed = await back.until("resume_conversation")
    own = {"type": "resume_conversation", "sessionId": "own", "claudeSessionId": "own"}
    assert resumed == {**created, **own}
    assert resumed["disallowedTools"] == ["Bash"]


async def test_an_agent_that_cannot_be_looked_after_does_not_hold_up_the_others(
    here: World,
) -> None:
    first, other = here.line, await here.another()
    assert first.agent is not None
    assert other.agent is not None
    first.agent.talk.out.append(actions.Write(await here.session(), cast(str, None)))
    other.agent.talk.out.append(actions.Send(b'{"type":"due"}'))
    here.host.sweep()
    assert other.of_type("due") == [{"type": "due"}]


class _FailsOnce(Starting):
    has_failed = False

    async def build(self, session_id: str) -> Start | None:
        if not self.has_failed:
            self.has_failed = True
            raise OSError("the disk is full")
        return await super().build(session_id)


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "of an earlier line"])
async def test_a_turn_outlives_a_record_that_could_not_be_read(
    tmp_path: Path, is_known: bool
) -> None:
    async with world(tmp_path / "data", Tuning(retry_s=0.0)) as here:
        session = await here.session(ready=is_known)
        back = await here.again()
        here.core.starting = _FailsOnce(here.core.store, here.core.services, here.core.log)
        back.hear({"type": "agent_sync_complete"})
        await here.say(session, "go")
        await back.until("resume_conversation" if is_known else "create_conversation")


async def test_an_answer_that_was_not_told_before_a_restart_goes_out_under_its_names(
    here: World,
) -> None:
    session = await here.turn()
    asked = {"requestId": "q", "questions": [{"question": "Which?", "options": ["a", "b"]}]}
    here.line.hear({"type": "ask_user_question", "conversationId": session, **asked})
    await here.core.log.flushed()
    here.line.close(1006, "")
    await here.core.sessions.answer(here.who, "q", True, "b", session)
    here.host = YeaftAgentHost(here.core)  # it has seen nothing of this
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    assert (await back.until("ask_user_answer"))["answers"] == {"Which?": "b"}


async def test_every_start_that_is_not_answered_ends_in_its_time(tmp_path: Path) -> None:
    async with world(tmp_path / "data", Tuning(start_timeout_s=0.05)) as here:
        sessions = [await here.session(ready=False) for _ in range(3)]
        for session in sessions:
            await here.say(session, "go")
        for session in sessions:
            ended = await eventually(
                partial(here.events, session), lambda found: "code" in found[-1]
            )
            assert ended[-1]["code"] == "SESSION_START_TIMEOUT"
