"""Who is let in as a Yeaft agent, by which secret, and what the log says of who is not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.unit.control.edges.yeaft_line import Json, MemoryLine, World, world
from trunkline import limits
from trunkline.control.records.page import Paging
from trunkline.control.tuning import Tuning

REFUSED = 1008


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path / "data") as made:
        yield made


async def _machine(line: MemoryLine, secret: str) -> str:
    await line.register(secret)
    assert line.agent is not None
    return line.agent.machine.id


@pytest.mark.proves("notes-3-found-by-secret", "notes-3-instance-names-the-agent")
async def test_a_users_secret_lets_in_many_agents_each_under_its_own_name(here: World) -> None:
    secret = await here.core.user_secrets.show(here.who.user_id)
    desk = MemoryLine(here.host, "desk", instanceId="i-1")
    lap = MemoryLine(here.host, "lap")
    made = [await _machine(desk, secret), await _machine(lap, secret)]
    assert len({*made, here.machine_id}) == 3
    assert (desk.is_open, lap.is_open) == (True, True)
    again = MemoryLine(here.host, "another id", instanceId="i-1", name="new name")
    assert await _machine(again, secret) == made[0]
    assert desk.close_code == REFUSED  # superseded
    assert (again.is_open, here.line.is_open) == (True, True)


async def test_an_agent_that_is_made_at_first_sight_is_in_the_audit_log_once(here: World) -> None:
    secret = await here.core.user_secrets.show(here.who.user_id)
    for _ in range(2):
        machine_id = await _machine(MemoryLine(here.host, "desk"), secret)
    page = await here.core.services.audit.page(here.who, Paging())
    [entry] = [one for one in page.items if one.event == "machine.registered"]
    assert (entry.user_id, entry.org_id) == (here.who.user_id, here.who.org_id)
    assert entry.details["machine_id"] == machine_id


async def test_an_agents_own_secret_wins_over_whatever_it_calls_itself(here: World) -> None:
    mine = here.machine_id
    line = MemoryLine(here.host, "desk", instanceId="i-1")
    assert await _machine(line, here.secret) == mine


async def _refusal(line: MemoryLine, *messages: Json | str) -> str:
    """What the log says of a line that is not let in."""
    with capture_logs() as logs:
        for message in messages:
            line.hear(message)
        assert await line.until_closed() == REFUSED
    [entry] = [one for one in logs if one["event"] == "agent refused"]
    assert entry["log_level"] == "warning"
    return str(entry["reason"])


def _auth(line: MemoryLine, secret: str) -> Json:
    return {"type": "auth", "tempId": line.sent[0]["tempId"], "secret": secret}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "auth", "tempId": "another", "secret": "x"}, "not the answer"),
        ({"type": "claude_output"}, "the first message must be auth"),
        ("{", "the first message must be auth"),
    ],
)
async def test_a_wrong_first_message_is_logged(
    here: World, message: Json | str, reason: str
) -> None:
    assert reason in await _refusal(MemoryLine(here.host, "desk"), message)


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        ("ya_wrong", "nobody's"),
        ("", "nobody's"),
        ("x" * (limits.API_KEY_CHARS_MAX + 1), "too long"),
    ],
)
async def test_a_secret_that_is_nobodys_is_logged_without_it(
    here: World, secret: str, reason: str
) -> None:
    line = MemoryLine(here.host, "desk")
    found = await _refusal(line, _auth(line, secret))
    assert reason in found
    assert not secret or secret not in found


async def test_a_users_secret_without_a_name_is_refused(here: World) -> None:
    secret = await here.core.user_secrets.show(here.who.user_id)
    line = MemoryLine(here.host, "", name="builder")
    assert "instanceId" in await _refusal(line, _auth(line, secret))


async def test_an_agent_that_is_given_up_is_refused_with_that_reason(here: World) -> None:
    secret = await here.core.user_secrets.show(here.who.user_id)
    machine_id = await _machine(MemoryLine(here.host, "desk"), secret)
    await here.core.vms.terminate(here.who, machine_id)
    line = MemoryLine(here.host, "desk")
    assert "given up" in await _refusal(line, _auth(line, secret))


async def test_an_agent_that_says_nothing_is_logged(tmp_path: Path) -> None:
    async with world(tmp_path / "data", Tuning(yeaft_auth_timeout_s=0.05)) as quick:
        assert "in time" in await _refusal(MemoryLine(quick.host, "desk"))


async def test_too_many_messages_behind_auth_are_logged(here: World) -> None:
    line = MemoryLine(here.host, "desk")
    early = [{"type": "agent_status"}] * (limits.AUTH_QUEUE_MAX + 1)
    assert "too many" in await _refusal(line, _auth(line, here.secret), *early)


@pytest.mark.parametrize("broken", ["{", "[]", "5", '{"type":7}', '{"no":"type"}', "\x00"])
async def test_a_broken_frame_right_behind_auth_is_skipped_like_any_other(
    here: World, broken: str
) -> None:
    line = MemoryLine(here.host, "desk")
    for message in (_auth(line, here.secret), broken, {"type": "agent_status", "state": "busy"}):
        line.hear(message)
    await line.until("registered")
    assert (line.is_open, line.close_code) == (True, None)
    assert [one["code"] for one in line.of_type("error")] == ["INVALID_REQUEST"]
    assert line.agent is not None
    assert line.agent.machine.health["state"] == "busy"  # what came behind it is taken


@pytest.mark.proves("notes-3-slash-commands")
async def test_slash_commands_are_kept_for_clients_that_come_later(here: World) -> None:
    commands = {"slashCommands": ["cost", 5], "slashCommandDescriptions": {"cost": "Show costs"}}
    update = {"type": "slash_commands_update", "conversationId": "__preload__", **commands}
    here.line.hear(update)
    kept = {"slashCommands": ["cost"], "slashCommandDescriptions": {"cost": "Show costs"}}
    machine = here.core.machines.find(here.machine_id)
    assert machine is not None
    assert {**machine.health, **kept} == machine.health
    here.line.hear({"type": "agent_status", "state": "idle"})
    assert {**machine.health, **kept} == machine.health
    await here.again()  # it does not say them again
    assert {**machine.health, **kept} == machine.health
    none: Json = {"slashCommands": [], "slashCommandDescriptions": {}}
    here.line.hear({**update, **none})
    assert {**machine.health, **none} == machine.health, "those that are gone are not shown"


async def test_messages_that_are_not_known_are_counted(here: World) -> None:
    for name in (
        *("never_heard_of", "never_heard_of", "llm_config"),
        *("slash_commands_update", "session_list_updated"),
    ):
        here.line.hear({"type": name})
    assert here.core.surprises.counts == {("yeaft", "message never_heard_of"): 2}


async def test_fields_that_are_not_known_are_counted_also_where_they_only_travel_through(
    here: World,
) -> None:
    session = await here.session()
    known = {"conversationId": session, "requestId": "r", "agentId": "a", "claudeSessionId": "s"}
    here.line.hear({"type": "agent_status", "state": "idle", "mood": "good"})
    here.line.hear({"type": "turn_completed", **known, "hasQueuedFollowUp": False})
    here.line.hear({"type": "context_usage", **known, "inputTokens": 1, "tokensLeft": 2})
    for _ in range(2):
        here.line.hear({"type": "llm_config", "requestId": "r", "providersNew": []})
    here.line.hear({"type": "claude_output", **known, "data": {"type": "system"}, "speed": 1})
    assert here.core.surprises.counts == {
        ("yeaft", "field mood"): 1,
        ("yeaft", "field tokensLeft"): 1,
        ("yeaft", "field providersNew"): 2,
        ("yeaft", "field speed"): 1,
    }


async def test_output_of_a_type_that_is_not_known_is_counted(here: World) -> None:
    session = await here.session()
    head = {"type": "claude_output", "conversationId": session}
    said: list[Json] = [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}]}},
        {"type": "text_delta", "text": "b"},
        {"jsonrpc": "2.0", "method": "session/update", "params": {}},
        {"type": "dream", "of": "sheep"},
        {"type": "dream", "of": "lambs"},
    ]
    for data in said:
        here.line.hear({**head, "data": data})
    assert here.core.surprises.counts == {("yeaft", "output dream"): 2}


_LIST: Json = {"type": "session_list_updated", "sessions": [{"id": "x"}]}


@pytest.mark.proves("notes-3-vouched-lists")
@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (_LIST, {**_LIST, "projectsAuthoritative": True}),
        (
            {"type": "yeaft_output", "conversationId": "y", "event": _LIST},
            {
                "type": "yeaft_output",
                "conversationId": "y",
                "event": {**_LIST, "projectsAuthoritative": True},
            },
        ),
        (
            {**_LIST, "projectsAuthoritative": False},
            {**_LIST, "projectsAuthoritative": True},
        ),
        ({"type": "other", "event": "session_list_updated"},) * 2,
        ({"type": "other", "event": {"name": "session_list_updated"}},) * 2,
    ],
)
async def test_a_list_of_an_agents_own_sessions_is_vouched_for(
    here: World, message: Json, shown: Json
) -> None:
    heard: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: heard.append(text))
    here.line.hear(message)
    assert [json.loads(text) for text in heard] == [shown]
