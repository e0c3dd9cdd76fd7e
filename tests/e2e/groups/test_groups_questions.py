"""Questions of persons, answered in the group or in their own session; and how a group stops."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.group import ScriptedGroup, ended, of
from tests.support.sse import SseReader

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def team(user: TestUser) -> AsyncIterator[ScriptedGroup]:
    group = await ScriptedGroup.make(user, "alice", "bob")
    yield group
    await group.leave()


async def questions(reader: SseReader, count: int) -> dict[str, dict[str, Any]]:
    """The questions in the group's log, by person."""
    await reader.until(lambda one: len(of(one, "approval_request")) >= count, "the questions")
    return {one["person"]["name"]: one for one in of(reader, "approval_request")}


async def waiting(user: TestUser, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await user.ok("GET", f"/approvals{query}"))["items"]
    return found


async def approval_of(team: ScriptedGroup, question: dict[str, Any]) -> dict[str, Any]:
    async def look() -> list[dict[str, Any]]:
        found = await waiting(team.user)
        return [one for one in found if one["request_id"] == question["request_id"]]

    return (await eventually(look))[0]


async def test_two_persons_ask_under_one_id_and_each_gets_its_own_answer(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("do it")
        asked = {}
        for name in ("alice", "bob"):
            asked[name] = await team[name].asked()
            await team[name].vm.event(
                asked[name]["session_id"],
                type="approval_request",
                request_id="q-1",
                kind="approve",
                message=f"may {name}?",
            )
        found = await questions(reader, 2)
        assert found["alice"]["request_id"] != found["bob"]["request_id"]
        assert found["alice"]["message"] == "may alice?"
        for name, confirmed in (("alice", True), ("bob", False)):
            approval = await approval_of(team, found[name])
            assert approval["session_id"] == team.session
            await team.user.ok("POST", f"/approvals/{approval['id']}", {"confirmed": confirmed})
            answer = await team[name].vm.expect("approval_response")
            assert answer["data"]["request_id"] == "q-1"
            assert answer["data"]["confirmed"] is confirmed
            await team[name].answer(asked[name], "done")
        await ended(reader, turn)
        settled = {one["request_id"]: one["confirmed"] for one in of(reader, "approval_resolved")}
        assert settled == {found["alice"]["request_id"]: True, found["bob"]["request_id"]: False}
        assert len(of(reader, "approval_resolved")) == 2
    assert await waiting(team.user) == []


async def test_a_question_is_listed_once_whichever_of_its_two_sessions_has_it(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("do it")
        asked = {name: await team[name].asked() for name in ("alice", "bob")}
        for name, message in asked.items():
            await team[name].vm.event(
                message["session_id"], type="approval_request", request_id="q", message=name
            )
        in_group = await questions(reader, 2)
        listed = await waiting(team.user)
        assert {one["request_id"] for one in listed} == {
            one["request_id"] for one in in_group.values()
        }
        assert len(listed) == 2
        assert {one["session_id"] for one in listed} == {team.session}
        # Whoever looks at a person's session finds its question there.
        own = await waiting(team.user, f"?session_id={asked['alice']['session_id']}")
        assert [one["request_id"] for one in own] == ["q"]
        # Answered by one of either kind; what is settled is listed once as well.
        await team.user.ok("POST", f"/approvals/{own[0]['id']}", {"confirmed": True})
        for_bob = next(one for one in listed if one["request"]["message"] == "bob")
        await team.user.ok("POST", f"/approvals/{for_bob['id']}", {"confirmed": True})
        for name, message in asked.items():
            await team[name].vm.expect("approval_response")
            await team[name].answer(message, "done")
        await ended(reader, turn)

    async def confirmed() -> list[str]:
        found = await waiting(team.user, "?state=all")
        return sorted(one["session_id"] for one in found if one["state"] == "confirmed")

    await eventually(confirmed, lambda sessions: sessions == [team.session] * 2)


async def test_a_question_that_the_group_does_not_ask_is_listed_as_the_persons(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice hello")
        message = await team["alice"].asked()
        await team["alice"].answer(message, "hi")
        await ended(reader, turn)
        # Somebody talks to her directly.
        session = message["session_id"]
        direct = await team.user.say(session, "and this?")
        await team["alice"].asked()
        await team["alice"].vm.event(
            session, type="approval_request", request_id="q-2", turn_id=direct
        )

        async def listed() -> list[str]:
            return [one["request_id"] for one in await waiting(team.user)]

        assert await eventually(listed) == ["q-2"]
        assert of(reader, "approval_request") == []
        await team["alice"].vm.event(session, type="execution_complete", content="done")


async def test_an_answer_in_the_persons_own_session_settles_it_in_the_group(
    team: ScriptedGroup,
) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice do it")
        message = await team["alice"].asked()
        session = message["session_id"]
        await team["alice"].vm.event(session, type="approval_request", request_id="q-1")
        question = (await questions(reader, 1))["alice"]
        in_group = await approval_of(team, question)
        (own,) = await waiting(team.user, f"?session_id={session}")
        assert (own["session_id"], own["request_id"]) == (session, "q-1")
        await team.user.ok("POST", f"/approvals/{own['id']}", {"confirmed": True})
        resolved = await reader.until_type("approval_resolved")
        assert (resolved["request_id"], resolved["confirmed"]) == (question["request_id"], True)
        assert resolved["person"]["name"] == "alice"
        assert await waiting(team.user) == []
        status, late = await team.user.call(
            "POST", f"/approvals/{in_group['id']}", {"confirmed": False}
        )
        assert (status, late["error"]["code"]) == (409, "ALREADY_ANSWERED")
        await team["alice"].answer(message, "done")
        await ended(reader, turn)
    assert len(team["alice"].vm.of_type("approval_response")) == 1


async def test_a_cancel_stops_everyone_and_ends_the_turn_once(team: ScriptedGroup) -> None:
    async with team.reader() as reader:
        turn = await team.say("count to a million")
        for name in ("alice", "bob"):
            message = await team[name].asked()
            await team[name].vm.text(message["session_id"], f"{name} 1 2 3")
        await reader.until(lambda one: len(of(one, "text_chunk")) == 2, "both at work")
        await team.user.ok("POST", f"/sessions/{team.session}/cancel", {"reason": "enough"})
        for name in ("alice", "bob"):
            cancel = await team[name].vm.expect("cancel")
            await team[name].vm.event(
                cancel["session_id"], type="execution_complete", content="", cancelled=True
            )
        end = await ended(reader, turn)
        assert (end["type"], end["cancelled"]) == ("execution_complete", True)
        assert "alice 1 2 3" in end["content"]
        done = of(reader, "person_complete")
        assert [one["cancelled"] for one in done] == [True, True]
        # The group is as good as new.
        again = await team.say("@bob still there?")
        await team["bob"].answers("yes")
        assert (await ended(reader, again))["content"] == "bob: yes"
        assert len(of(reader, "execution_complete")) == 2


async def test_a_cancelled_group_passes_nothing_on(team: ScriptedGroup) -> None:
    async with team.reader() as reader:
        turn = await team.say("@alice begin")
        message = await team["alice"].asked()
        await team.user.ok("POST", f"/sessions/{team.session}/cancel")
        await team["alice"].vm.expect("cancel")
        # She ends as if she had not heard, and hands on to bob.
        await team["alice"].answer(message, "@bob go on")
        end = await ended(reader, turn)
        assert end["cancelled"] is True
        assert [one["person"]["name"] for one in of(reader, "person_start")] == ["alice"]
    assert team["bob"].vm.of_type("user_message") == []


async def test_a_second_message_does_not_wait_for_the_first(team: ScriptedGroup) -> None:
    async with team.reader() as reader:
        slow = await team.say("@alice take your time")
        message = await team["alice"].asked()
        quick = await team.say("@bob quickly")
        await team["bob"].answers("done")
        assert (await ended(reader, quick))["content"] == "bob: done"
        third = await team.say("@alice one more thing")
        await team["alice"].answer(message, "done at last")
        assert (await ended(reader, slow))["content"] == "alice: done at last"
        assert "one more thing" in await team["alice"].answers("that too")
        assert (await ended(reader, third))["content"] == "alice: that too"
