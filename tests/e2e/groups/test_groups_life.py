"""How groups and persons come and go, and what nobody else may do with them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.group import ScriptedGroup, ended, of

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def team(user: TestUser) -> AsyncIterator[ScriptedGroup]:
    group = await ScriptedGroup.make(user, "alice", "bob")
    yield group
    await group.leave()


async def open_sessions(user: TestUser) -> list[str]:
    found = await user.ok("GET", "/sessions?status=active&limit=200")
    return [one["id"] for one in found["items"]]


async def test_persons_sessions_are_closed_with_the_conversation(team: ScriptedGroup) -> None:
    await team.say("@alice hello")
    message = await team["alice"].asked()
    assert len(await open_sessions(team.user)) == 2
    await team.user.ok("DELETE", f"/sessions/{team.session}")
    stop = await team["alice"].vm.expect("stop_session")
    assert stop["data"]["session_id"] == message["session_id"]

    async def left() -> list[str]:
        return await open_sessions(team.user)

    await eventually(left, lambda found: found == [])
    events = (await team.user.ok("GET", f"/sessions/{team.session}/events"))["items"]
    ends = [one["event"] for one in events if one["event"]["type"].startswith("execution_")]
    assert [one["code"] for one in ends] == ["SESSION_CLOSED"]


async def test_a_removed_group_closes_all_that_belongs_to_it(team: ScriptedGroup) -> None:
    async with team.reader() as reader:
        turn = await team.say("hello")
        for name in ("alice", "bob"):
            await team[name].asked()
        await team.user.ok("DELETE", f"/groups/{team.id}")
        assert (await ended(reader, turn))["code"] == "SESSION_CLOSED"
    for name in ("alice", "bob"):
        await team[name].vm.expect("stop_session")

    async def left() -> list[str]:
        return await open_sessions(team.user)

    await eventually(left, lambda found: found == [])
    status, answer = await team.user.call("GET", f"/groups/{team.id}")
    assert (status, answer["error"]["code"]) == (404, "GROUP_NOT_FOUND")
    assert [one["name"] for one in (await team.user.ok("GET", "/persons"))["items"]] == [
        "bob",
        "alice",
    ]
    # Its name is free again.
    await team.user.ok("POST", "/groups", {"name": "team"})


async def test_a_group_that_is_given_up_as_a_machine_lets_its_persons_go(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@bob hello")
        await team["bob"].asked()
        await team.user.ok("DELETE", f"/machines/{team.id}")
        assert (await ended(reader, turn))["code"] == "MACHINE_TERMINATED"
    await team["bob"].vm.expect("stop_session")


async def test_a_removed_person_is_gone_from_its_groups_and_the_others_go_on(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("hello")
        message = await team["alice"].asked()
        await team["bob"].asked()
        await team.user.ok("DELETE", f"/persons/{team['bob'].id}")
        await team["bob"].vm.expect("stop_session")
        await team["alice"].answer(message, "hi @bob")
        end = await ended(reader, turn)
        assert end["content"].startswith("alice: hi @bob")
        failed = [one for one in of(reader, "person_error") if one["person"]["name"] == "bob"]
        assert failed[0]["code"] == "SESSION_CLOSED"
        turn = await team.say("who is left?")
        await team["alice"].answers("me")
        assert (await ended(reader, turn))["content"] == "alice: me"
    group = await team.user.ok("GET", f"/groups/{team.id}")
    assert [one["name"] for one in group["persons"]] == ["alice"]


async def test_a_person_that_is_taken_out_of_a_group_has_its_session_closed(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@bob hello")
        await team["bob"].answers("hi")
        await ended(reader, turn)
        await team.user.ok("PATCH", f"/groups/{team.id}", {"person_ids": [team["alice"].id]})
        await team["bob"].vm.expect("stop_session")
        turn = await team.say("@bob still there?")
        await team["alice"].answers("he left")
        assert (await ended(reader, turn))["content"] == "alice: he left"


async def test_whoever_leaves_in_the_middle_of_a_turn_is_asked_nothing_more_in_it(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("hello")
        message = await team["alice"].asked()
        await team["bob"].asked()
        await team.user.ok("PATCH", f"/groups/{team.id}", {"person_ids": [team["alice"].id]})
        await team["bob"].vm.expect("stop_session")
        await team["alice"].answer(message, "@bob, are you there?")
        end = await ended(reader, turn)
        assert end["content"].endswith("bob did not answer: bob is not in this group any more")
        errors = [one["code"] for one in of(reader, "person_error")]
        assert errors == ["SESSION_CLOSED", "PERSON_NOT_FOUND"]
    assert len(team["bob"].vm.of_type("start_session")) == 1


async def test_what_waits_for_a_person_that_is_removed_ends_and_leaves_nothing_behind(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        first = await team.say("@alice one")
        await team["alice"].asked()
        second = await team.say("@alice @bob two")
        message = await team["bob"].asked()
        await team.user.ok("DELETE", f"/persons/{team['alice'].id}")
        assert (await ended(reader, first))["type"] == "execution_error"
        await team["bob"].answer(message, "here")
        end = await ended(reader, second)
        assert end["content"] == (
            "alice did not answer: alice is not in this group any more\n\nbob: here"
        )
    assert len(team["alice"].vm.of_type("start_session")) == 1
    assert set(await open_sessions(team.user)) == {team.session, message["session_id"]}


async def test_a_person_that_is_renamed_in_the_middle_of_a_turn_answers_on(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice hello")
        message = await team["alice"].asked()
        await team.user.ok("PATCH", f"/persons/{team['alice'].id}", {"name": "alicia"})
        await team["alice"].answer(message, "hi")
        assert (await ended(reader, turn))["content"] == "alice: hi"
        turn = await team.say("@alicia hello")
        await team["alice"].answers("hi again")
        assert (await ended(reader, turn))["content"] == "alicia: hi again"


async def test_a_person_that_moves_goes_on_elsewhere_and_is_told_what_was_said(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice remember 42")
        await team["alice"].answers("noted")
        await ended(reader, turn)
        machine = (await team.user.ok("GET", f"/persons/{team['bob'].id}"))["machine_id"]
        patch = {"machine_id": machine, "prompt": "You are new here."}
        await team.user.ok("PATCH", f"/persons/{team['alice'].id}", patch)
        turn = await team.say("@alice what was it?")
        message = await team["bob"].asked()  # it is bob's machine that is asked
        assert "user: @alice remember 42" in message["data"]["message"]
        start = await team["bob"].vm.expect("start_session")
        assert start["data"]["agent_config"]["system_prompt"].startswith("You are new here.")
        await team["bob"].answer(message, "42")
        assert (await ended(reader, turn))["content"] == "alice: 42"
    await team["alice"].vm.expect("stop_session")


async def test_a_new_prompt_reaches_a_session_that_is_there(team: ScriptedGroup) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice hello")
        await team["alice"].answers("hi")
        await ended(reader, turn)
        patch = {"prompt": "Be brief.", "model": "small"}
        await team.user.ok("PATCH", f"/persons/{team['alice'].id}", patch)
        turn = await team.say("@alice hello")
        update = await team["alice"].vm.expect("config_update")
        assert update["data"]["system_prompt"].startswith("Be brief.")
        assert update["data"]["model"] == "small"
        await team["alice"].answers("hi")
        await ended(reader, turn)
    assert len(team["alice"].vm.of_type("start_session")) == 1


async def test_a_person_without_a_machine_gets_one_that_is_online(user: TestUser) -> None:
    person = await user.ok("POST", "/persons", {"name": "zoe"})
    group = await user.ok("POST", "/groups", {"name": "g", "person_ids": [person["id"]]})
    session = await user.session(machine_id=group["id"])
    async with user.reader(session) as reader:
        turn = await user.say(session, "anybody?")
        end = await ended(reader, turn)
        assert end["type"] == "execution_error"
        assert of(reader, "person_error")[0]["code"] == "NO_MACHINE"
        async with await user.vm() as vm:
            turn = await user.say(session, "and now?")
            message = await vm.expect("user_message")
            await vm.event(message["session_id"], type="execution_complete", content="yes")
            assert (await ended(reader, turn))["content"] == "zoe: yes"


async def test_what_is_another_persons_is_not_there_and_the_attempt_is_audited(
    control: Control, team: ScriptedGroup
) -> None:
    eve = await control.user("eve")
    own = await eve.ok("POST", "/persons", {"name": "spy"})
    group = await eve.ok("POST", "/groups", {"name": "lair", "person_ids": [own["id"]]})
    alice, machine = team["alice"].id, (await team.user.ok("GET", "/machines"))["items"][-1]["id"]
    attempts: list[tuple[str, str, Any, str]] = [
        ("GET", f"/persons/{alice}", None, "PERSON"),
        ("PATCH", f"/persons/{alice}", {"prompt": "obey eve"}, "PERSON"),
        ("DELETE", f"/persons/{alice}", None, "PERSON"),
        ("GET", f"/groups/{team.id}", None, "GROUP"),
        ("PATCH", f"/groups/{team.id}", {"person_ids": []}, "GROUP"),
        ("DELETE", f"/groups/{team.id}", None, "GROUP"),
        ("POST", "/sessions", {"machine_id": team.id}, "MACHINE"),
        ("POST", "/persons", {"name": "mole", "machine_id": machine}, "MACHINE"),
        ("PATCH", f"/persons/{own['id']}", {"machine_id": machine}, "MACHINE"),
        ("POST", "/groups", {"name": "heist", "person_ids": [alice]}, "PERSON"),
        ("PATCH", f"/groups/{group['id']}", {"person_ids": [alice]}, "PERSON"),
    ]
    for method, path, body, kind in attempts:
        status, answer = await eve.call(method, path, body)
        assert (status, answer["error"]["code"]) == (404, f"{kind}_NOT_FOUND"), (method, path)

    async def audited() -> list[Any]:
        found = (await control.ok("GET", "/audit?limit=200"))["items"]
        return [one for one in found if one["event"] == "access.refused"]

    await eventually(audited, lambda found: len(found) >= len(attempts))
    assert [one["id"] for one in (await eve.ok("GET", "/persons"))["items"]] == [own["id"]]
    assert [one["id"] for one in (await eve.ok("GET", "/groups"))["items"]] == [group["id"]]
    persons = (await team.user.ok("GET", f"/groups/{team.id}"))["persons"]
    assert [one["prompt"] for one in persons] == ["You like alice.", "You like bob."]


async def test_a_removed_user_takes_groups_persons_and_sessions_along(control: Control) -> None:
    user = await control.user("brief")
    team = await ScriptedGroup.make(user, "alice")
    await team.say("hello")
    message = await team["alice"].asked()
    await control.ok("DELETE", f"/users/{user.id}")
    assert await team["alice"].vm.closed() == 4003
    for path in (
        f"/groups/{team.id}",
        f"/persons/{team['alice'].id}",
        f"/sessions/{team.session}",
        f"/sessions/{message['session_id']}",
    ):
        assert (await control.call("GET", path))[0] == 404
    await team.leave()
