"""A Yeaft agent's line: how it begins, what ends it, and who is not let in."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.control import Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.orgs import admin_of_new_org
from tests.support.yeaft_agent import DEPLOYED, ScriptedAgent, new_agent
from trunkline import limits
from trunkline.control.ids import new_id
from trunkline.control.tuning import DEFAULT, Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICY = 1008


async def online(user: TestUser, machine_id: str) -> bool:
    return bool((await user.ok("GET", f"/machines/{machine_id}"))["online"])


@pytest.mark.proves("002-9-agents-prove-their-secret")
@pytest.mark.parametrize("path", ["/ws/yeaft", "/"])
@pytest.mark.proves("notes-3-agent-address", "notes-3-agent-handshake")
async def test_an_agent_registers_with_its_secret(user: TestUser, path: str) -> None:
    agent = await new_agent(user, path=path)
    await agent.connect()
    challenge = await agent.expect("auth_required")
    assert set(challenge) == {"type", "tempId"}
    registered = await agent.register()
    assert registered == {
        "type": "registered",
        "agentId": agent.id,
        "sessionKey": None,
        "acceptPlaintext": True,
    }
    machine = await user.ok("GET", f"/machines/{agent.id}")
    assert (machine["kind"], machine["online"]) == ("yeaft", True)
    await agent.leave()

    async def is_online() -> bool:
        return await online(user, agent.id)

    await eventually(is_online, lambda found: not found)


@pytest.mark.proves("notes-3-found-by-secret")
@pytest.mark.parametrize("called", [{"id": "builder-7"}, {"id": "", "name": "", "instanceId": ""}])
async def test_an_agent_is_found_by_its_secret_whatever_it_calls_itself(
    user: TestUser, called: dict[str, Any]
) -> None:
    agent = await new_agent(user)
    named = ScriptedAgent(agent.base, "", agent.secret, DEPLOYED, **called)
    async with named:
        assert (await named.expect("registered"))["agentId"] == agent.id


@pytest.mark.proves("002-9-agents-prove-their-secret")
@pytest.mark.proves("notes-3-refused-is-1008")
async def test_a_wrong_secret_is_refused_for_good(user: TestUser) -> None:
    agent = await new_agent(user)
    await agent.connect()
    challenge = await agent.expect("auth_required")
    await agent.send({"type": "auth", "tempId": challenge["tempId"], "secret": "ya_wrong"})
    assert await agent.closed() == POLICY
    await agent.leave()


async def test_a_secret_opens_nobody_elses_agent(control: Control, user: TestUser) -> None:
    """Also not one that calls itself like another."""
    stranger = await admin_of_new_org(control)
    async with await new_agent(stranger) as theirs:
        mine = await new_agent(user)
        thief = ScriptedAgent(control.url, theirs.id, mine.secret, name=theirs.id)
        async with thief:
            assert (await thief.expect("registered"))["agentId"] == mine.id
        await theirs.ping()
        session = await stranger.session(machine_id=theirs.id)
        assert (await theirs.expect("create_conversation"))["conversationId"] == session


@pytest.mark.parametrize(
    "first",
    [
        {"type": "auth", "tempId": "another", "secret": "SECRET"},
        {"type": "auth", "secret": "SECRET"},
        {"type": "auth", "tempId": "TEMP", "secret": {"a": 1}},
        {"type": "claude_output", "conversationId": "x", "data": {}},
        {"no": "type"},
    ],
)
async def test_a_first_message_that_is_not_the_answer_ends_the_line(
    user: TestUser, first: dict[str, object]
) -> None:
    agent = await new_agent(user)
    await agent.connect()
    temp_id = (await agent.expect("auth_required"))["tempId"]
    real = {"SECRET": agent.secret, "TEMP": temp_id}
    sent = {
        name: real.get(one, one) if isinstance(one, str) else one for name, one in first.items()
    }
    await agent.send(sent)
    assert await agent.closed() == POLICY
    await agent.leave()


async def test_a_large_message_before_registration_ends_the_line(user: TestUser) -> None:
    agent = await new_agent(user)
    await agent.connect()
    await agent.expect("auth_required")
    await agent.send({"type": "auth", "pad": "x" * (limits.AUTH_FRAME_BYTES_MAX + 1)})
    assert await agent.closed() == 1009
    await agent.leave()


@pytest.mark.proves("notes-3-auth-within-30-s")
async def test_an_agent_that_says_nothing_is_not_waited_for(
    tmp_path: Path,
) -> None:
    assert DEFAULT.yeaft_auth_timeout_s == 30
    async with running(tmp_path / "data", tuning=Tuning(yeaft_auth_timeout_s=0.05)) as control:
        agent = await new_agent(await control.user())
        await agent.connect()
        assert await agent.closed() == POLICY
        await agent.leave()


async def test_an_unknown_agent_is_refused_like_one_with_a_wrong_secret(control: Control) -> None:
    agent = ScriptedAgent(control.url, new_id(), "ya_nothing")
    await agent.connect()
    temp_id = (await agent.expect("auth_required"))["tempId"]
    await agent.send({"type": "auth", "tempId": temp_id, "secret": agent.secret})
    assert await agent.closed() == POLICY
    await agent.leave()


@pytest.mark.proves("notes-3-refused-is-1008")
async def test_a_newer_line_of_the_same_agent_replaces_the_older(user: TestUser) -> None:
    async with await new_agent(user) as older, older.again() as newer:
        assert await older.closed() == POLICY
        session = await user.session(machine_id=newer.id)
        await user.say(session, "hello")
        await newer.prompt("hello")


@pytest.mark.proves("002-11-silence-is-death")
@pytest.mark.proves("notes-3-silent-for-180-s")
async def test_silence_ends_a_line_and_a_ping_is_a_sign_of_life(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with running(tmp_path / "data", now=clock) as control:
        user = await control.user()
        async with await new_agent(user) as quiet, await new_agent(user) as alive:
            await clock.pass_time(179)
            control.sweep()
            assert control.core.machines.is_online(quiet.id)
            await alive.ping()
            await clock.pass_time(2)
            control.sweep()
            assert await quiet.closed() == 4008
            await alive.ping()


async def test_a_broken_message_is_answered_and_the_line_lives_on(user: TestUser) -> None:
    async with await new_agent(user) as agent:
        await agent.send_text('{"type": "claude_output", ')
        error = await agent.expect("error")
        assert error["code"] == "INVALID_REQUEST"
        session = await user.session(machine_id=agent.id)
        assert (await agent.expect("create_conversation"))["conversationId"] == session


async def test_binary_frames_are_not_part_of_the_wire(user: TestUser) -> None:
    async with await new_agent(user) as agent:
        await agent.send_bytes(b"{}")
        assert await agent.closed() == 1003


async def test_capabilities_of_another_wire_are_not_taken_from_an_agent(user: TestUser) -> None:
    agent = await new_agent(user)
    await agent.connect()
    await agent.register(capabilities=["seq", "batch", "terminal", 5, "x" * 500])

    async def capabilities() -> list[str]:
        found: list[str] = (await user.ok("GET", f"/machines/{agent.id}"))["capabilities"]
        return found

    assert await eventually(capabilities) == ["terminal"]
    await agent.leave()
