"""A conversation as the terminal holds it, over a real server with a scripted machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser
from tests.support.eventually import until
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.cli.chat.answers import Answer
from trunkline.cli.chat.conversation import Conversation
from trunkline.cli.chat.pipe import waits
from trunkline.client import Client, Event

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUND_S = 60


class Desk:
    """A reader of a session, and the machine that it runs on."""

    def __init__(self, user: TestUser, vm: ScriptedVm, client: Client) -> None:
        self.user, self.vm, self.client = user, vm, client
        self.shown: list[Event] = []

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Conversation]:
        session = await self.client.sessions.create()
        talk = Conversation(self.client, session.id, self.shown.append)
        talk.start()
        async with asyncio.timeout(BOUND_S):
            yield talk
        await talk.close()

    async def heard(self, text: str) -> None:
        """Waits until the machine was told that."""
        await self.vm.expect("user_message", lambda message: message["data"]["message"] == text)

    async def finish(self, session_id: str, text: str = "done") -> None:
        await self.vm.event(session_id, type="execution_complete", content=text)

    async def until(self, kind: str) -> Event:
        return (await until(lambda: [one for one in self.shown if one.type == kind]))[-1]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.shown]


@pytest_asyncio.fixture(loop_scope="module")
async def desk(control: Control) -> AsyncIterator[Desk]:
    user = await control.user()
    async with await user.vm() as vm, Client(control.url, user.token) as client:
        yield Desk(user, vm, client)


async def test_turns_follow_each_other_and_nothing_is_shown_twice(desk: Desk) -> None:
    async with desk.talk() as talk:
        for number in range(3):
            turn = await talk.say(f"question {number}")
            assert talk.is_busy
            await desk.heard(f"question {number}")
            await desk.vm.text(talk.session_id, f"answer {number}")
            await desk.finish(talk.session_id)
            assert await talk.outcome(turn) == "completed"
            assert not talk.is_busy
    assert desk.types == ["user_message", "text_chunk", "execution_complete"] * 3
    assert all(talk.is_own(event) for event in desk.shown if event.type == "user_message")
    ids = [event.id for event in desk.shown if event.id is not None]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        ({"type": "execution_error", "error": "boom"}, "failed"),
        ({"type": "execution_complete", "cancelled": True}, "cancelled"),
    ],
)
async def test_how_a_turn_ended_is_told_apart(
    desk: Desk, ending: dict[str, Any], outcome: str
) -> None:
    async with desk.talk() as talk:
        turn = await talk.say("try it")
        await desk.vm.expect("user_message")
        await desk.vm.event(talk.session_id, **ending)
        assert await talk.outcome(turn) == outcome


@pytest.mark.parametrize("key", ["request_id", "approval_id"])
async def test_a_question_goes_by_either_name_and_is_answered_in_its_own_session(
    desk: Desk, key: str
) -> None:
    """Machines number their questions per session: another session may ask under the same id."""
    other = (await desk.client.sessions.create()).id
    async with desk.talk() as talk:
        await desk.vm.event(other, None, **{"type": "approval_request", key: "q-1"})
        turn = await talk.say("delete it")
        await desk.vm.expect("user_message")
        await desk.vm.event(talk.session_id, None, **{"type": "approval_request", key: "q-1"})
        asked = await desk.until("approval_request")
        assert await talk.answer(asked, Answer(False, reason="not today")) is True
        given = await desk.vm.expect("approval_response")
        assert (given["session_id"], given["data"]["confirmed"]) == (talk.session_id, False)
        assert await talk.answer(asked, Answer(True)) is False  # somebody was faster
        await desk.finish(talk.session_id)
        assert await talk.outcome(turn) == "completed"
        waiting = await desk.client.sessions.approvals()
    assert [approval.session_id for approval in waiting] == [other]


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"request_id": "q 1;\x1b[2J"}, "'q 1;\\x1b[2J' --session s-1 --yes"),
        ({"approval_id": "q"}, "q --session s-1 --yes"),
        (
            {"request_id": "q", "rule": "bash(\x1b[2J)"},
            "q --session s-1 --yes (or --scope always: allow bash(\\x1b[2J))",
        ),
        ({"request_id": "q", "kind": "input"}, 'q --session s-1 --yes --answer "…"'),
        ({"request_id": "q", "kind": "select"}, 'q --session s-1 --yes --answer "…"'),
    ],
)
async def test_without_a_terminal_the_command_that_answers_is_shown(
    fields: dict[str, str], command: str
) -> None:
    shown = waits("s-1", Event(1, {"type": "approval_request", **fields}))
    assert shown == f"waits for an answer: trunkline session answer {command}"


async def test_what_the_ring_no_longer_holds_comes_from_the_log(desk: Desk) -> None:
    """The terminal was away for more events than a replay holds: none of them is lost."""
    count = limits.RING_EVENTS + 200
    session_id = (await desk.client.sessions.create()).id
    async with asyncio.timeout(BOUND_S):
        await desk.client.sessions.send(session_id, "count")
        await desk.vm.expect("user_message")
        await desk.vm.text(session_id, *(str(number) for number in range(count)))
        while (await desk.client.sessions.get(session_id)).last_event_id < count:
            await asyncio.sleep(0.01)
        talk = Conversation(desk.client, session_id, desk.shown.append)
        talk.start()
        turn = await talk.say("and on", when_busy="queue")
        await desk.heard("and on")
        await desk.finish(session_id, "first")
        await desk.finish(session_id, "second")
        await talk.outcome(turn)
        await talk.close()
    texts = [event.data["content"] for event in desk.shown if event.type == "text_chunk"]
    assert texts == [str(number) for number in range(count)]
    assert "resync" in desk.types
