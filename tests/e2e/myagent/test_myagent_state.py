"""A session's state that the client keeps: exported signed, and taken back only as it was."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.control import Control, ControlProcess, TestUser
from tests.support.myagent import Json, MyAgentClient, client_of
from tests.support.vm import ScriptedVm
from trunkline.control.clock import now_ms

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock(now_ms())


def saying(text: str) -> Callable[[Json], bool]:
    return lambda message: bool(message["data"]["message"] == text)


async def talk(client: MyAgentClient, vm: ScriptedVm, session: str, *texts: str) -> None:
    """Turns that end at once with the same words."""
    for text in texts:
        seen = len(client.received)
        await client.say(session, text)
        await vm.expect("user_message", saying(text))
        await vm.event(session, type="execution_complete", content=f"re: {text}")
        await client.expect("agent.final_answer", after=seen)


async def export(client: MyAgentClient, session: str) -> Json:
    seen = len(client.received)
    await client.send("user.request_state", session_id=session)
    told = await client.expect("agent.state_exported", after=seen)
    assert told["session_id"] == session
    signed: Json = told["metadata"]["signed_state"]
    assert told["content"]["signed_state"] == signed
    return signed


async def restore(client: MyAgentClient, signed: Any, **position: Any) -> None:
    await client.send("user.reconnect_with_state", signed_state=signed, **position)


@pytest.mark.proves("notes-2-state-exported", "notes-2-signed-state-form")
async def test_a_state_has_the_known_form(user: TestUser, vm: ScriptedVm) -> None:
    async with client_of(user) as client:
        session = await client.create_session({"agent_config": {"api_key": "very secret"}})
        await talk(client, vm, session, "one", "two")
        signed = await export(client, session)
    assert set(signed) == {"state", "timestamp", "signature", "version", "checksum"}
    assert signed["version"] == "1.0"
    assert len(signed["signature"]) == len(signed["checksum"]) == 64
    assert signed["state"]["session_id"] == session
    assert signed["state"]["messages"] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "re: one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "re: two"},
    ]
    assert "very secret" not in json.dumps(signed)


@pytest.mark.parametrize("position", [{}, {"last_seq": 0}], ids=["none", "nothing yet"])
@pytest.mark.proves("notes-2-state-restored", "notes-2-state-message-count")
async def test_a_state_brings_its_session_back_with_what_came_since(
    user: TestUser, vm: ScriptedVm, position: Json
) -> None:
    async with client_of(user) as first:
        session = await first.create_session()
        await talk(first, vm, session, "one")
        signed = await export(first, session)
        await talk(first, vm, session, "two")
    async with client_of(user) as second:
        await restore(second, signed, **position)
        restored = await second.expect("agent.state_restored")
        assert restored["session_id"] == session
        assert restored["metadata"]["state_integrity"] == "verified"
        assert restored["metadata"]["message_count"] == 2
        answer = await second.expect("agent.final_answer")
        assert answer["content"] == "re: two"
        await talk(second, vm, session, "three")
        answers = [one["content"] for one in second.of_event("agent.final_answer")]
        assert answers == ["re: two", "re: three"]


async def test_a_position_beside_the_state_counts_more(user: TestUser, vm: ScriptedVm) -> None:
    async with client_of(user) as first:
        session = await first.create_session()
        await talk(first, vm, session, "one")
        seen = first.last_event_id
        await talk(first, vm, session, "two")
        signed = await export(first, session)
        await talk(first, vm, session, "three")
    async with client_of(user) as second:
        await second.send(
            "user.reconnect_with_state", content={"signed_state": signed, "last_event_id": seen}
        )
        await second.expect("agent.final_answer", lambda one: one["content"] == "re: three")
        answers = [one["content"] for one in second.of_event("agent.final_answer")]
        assert answers == ["re: two", "re: three"]


@pytest.mark.proves("notes-2-signed-state-bounds")
async def test_a_state_holds_a_hundred_messages_and_a_hundred_kilobytes_at_most(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as client:
        session = await client.create_session()
        await talk(client, vm, session, *(f"m{index}" for index in range(60)))
        signed = await export(client, session)
        assert len(signed["state"]["messages"]) == 100
        assert signed["state"]["messages"][-1] == {"role": "assistant", "content": "re: m59"}
        large = "x" * 60_000
        await talk(client, vm, session, large)
        signed = await export(client, session)
        assert signed["state"]["messages"][-1]["content"] == f"re: {large}"
        size = len(json.dumps(signed["state"]))
        assert 60_000 < size <= 100 * 1024
        await restore(client, signed)
        await client.expect("agent.state_restored")


def _changed(path: str, value: Any) -> Callable[[Json], Any]:
    def change(signed: Json) -> Any:
        place, *names = [signed, *path.split(".")]
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
        return signed

    return change


CHANGES: dict[str, Callable[[Json], Any]] = {
    "another session": _changed("state.session_id", "00000000-0000-0000-0000-000000000000"),
    "another user": _changed("state.user_id", "00000000-0000-0000-0000-000000000000"),
    "another place": _changed("state.last_event_id", 1),
    "a later time": _changed("timestamp", 2**52),
    "no signature": _changed("signature", ""),
    "a strange signature": _changed("signature", "签" * 64),
    "another checksum": _changed("checksum", "0" * 64),
    "another version": _changed("version", "2.0"),
    "an empty state": _changed("state", {}),
    "a state that is a list": _changed("state", []),
    "a time that is text": _changed("timestamp", "now"),
    "more in it": _changed("state.more", "x" * 200_000),
    "text": lambda _signed: "signed",
    "a list": lambda signed: [signed],
    "its state alone": lambda signed: signed["state"],
}


async def test_a_return_without_a_state_says_what_is_missing(user: TestUser) -> None:
    async with client_of(user) as client:
        for fields in ({}, {"signed_state": None}, {"content": {"last_seq": 3}}):
            seen = len(client.received)
            await client.send("user.reconnect_with_state", **fields)
            fault = await client.fault("MISSING_FIELD", after=seen)
            assert (fault["event"], fault["content"]) == (
                "system.error",
                "signed_state is missing",
            )


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.proves("notes-2-signed-state-hmac")
async def test_a_changed_state_is_refused(user: TestUser, vm: ScriptedVm, change: str) -> None:
    async with client_of(user) as client:
        session = await client.create_session()
        signed = await export(client, session)
        await restore(client, CHANGES[change](copy.deepcopy(signed)))
        fault = await client.fault("STATE_INVALID")
        assert fault["event"] == "system.error"
        await restore(client, signed)
        await client.expect("agent.state_restored")


async def test_the_order_of_its_fields_does_not_matter(user: TestUser, vm: ScriptedVm) -> None:
    async with client_of(user) as client:
        signed = await export(client, await client.create_session())
        turned = {name: signed[name] for name in reversed(list(signed))}
        turned["state"] = dict(reversed(list(signed["state"].items())))
        await restore(client, turned)
        await client.expect("agent.state_restored")


@pytest.mark.proves("notes-2-signed-state-seven-days")
async def test_a_state_lives_for_seven_days(
    user: TestUser, vm: ScriptedVm, clock: FakeClock
) -> None:
    async with client_of(user) as client:
        signed = await export(client, await client.create_session())
        clock.advance(7 * 24 * 3600 - 60)
        await restore(client, signed)
        await client.expect("agent.state_restored")
        clock.advance(2 * 60)
        await restore(client, signed)
        await client.fault("STATE_EXPIRED")


async def test_a_state_of_a_session_that_is_gone_is_refused(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    other = await control.user("bob")
    async with client_of(user) as client, client_of(other) as stranger:
        session = await client.create_session()
        signed = await export(client, session)
        await restore(stranger, signed)
        fault = await stranger.fault("SESSION_NOT_FOUND")
        assert fault["event"] == "system.error"
        assert stranger.of_session(session) == []


async def test_a_state_is_no_key_to_a_session_for_anybody_else(
    control: Control, vm: ScriptedVm, user: TestUser
) -> None:
    """Not even for somebody who may see the session: what is signed is one client's own place."""
    org_id = (await control.ok("GET", f"/users/{user.id}"))["org_id"]
    admin = await control.user("orla", org_id=org_id, role="org_admin")
    async with client_of(user) as client, client_of(admin) as other:
        session = await client.create_session()
        signed = await export(client, session)
        assert (await admin.ok("GET", f"/sessions/{session}"))["id"] == session
        await restore(other, signed)
        assert (await other.fault("SESSION_NOT_FOUND"))["event"] == "system.error"
        assert other.of_session(session) == []


async def test_a_state_counts_after_a_restart(tmp_path: Path) -> None:
    control = ControlProcess(tmp_path / "process")
    await control.start()
    user = await control.user()
    vm = await user.vm()
    client = await client_of(user).connect()
    session = await client.create_session()
    signed = await export(client, session)
    await control.kill()
    await client.leave()
    await vm.leave()
    await control.start()
    try:
        async with client_of(user) as again:
            await restore(again, signed)
            assert (await again.expect("agent.state_restored"))["session_id"] == session
    finally:
        await control.terminate()
