"""A conversation over a core without sockets: what is hard to see from outside."""

import gc
from collections.abc import Awaitable, Callable
from typing import Any, cast

from sqlalchemy import update

from tests.support.eventually import eventually
from tests.unit.control.groups.conftest import Stage, groups_of, restarted
from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.groups.conversation import Conversation
from trunkline.control.groups.groups import Groups
from trunkline.control.groups.persons import NewPerson
from trunkline.control.groups.records import NewGroup
from trunkline.control.sessions.approvals import Approval
from trunkline.control.sessions.listing import SessionQuery
from trunkline.control.sessions.records import NewMessage, NewSession, Session
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.store import schema
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.commands import Answer, Cancel, Say, Stop


async def test_a_machine_without_a_word_for_prompts_gets_it_with_the_first_message(
    stage: Stage,
) -> None:
    turn = await stage.say("hello")
    say = await stage.line.until(Say)
    assert say.message == (
        "Be kind.\n\nYou are alice in the group team.\n\n[user says to you]\nhello"
    )
    stage.does(say, "execution_complete", content="hi")
    assert (await stage.end(turn))["content"] == "alice: hi"
    turn = await stage.say("again")
    say = await stage.line.until(Say, 2)
    assert say.message == "again"
    stage.does(say, "execution_complete", content="hi")
    await stage.end(turn)


async def test_a_person_that_does_not_stop_is_not_waited_for(stage: Stage) -> None:
    person = await stage.core.groups.persons.create(
        stage.who, NewPerson(name="deaf", machine_id=stage.machine.id)
    )
    groups = groups_of(stage.core, stage.core.sessions, Tuning(cancel_grace_s=0.01))
    group = await groups.create(stage.who, NewGroup(name="g", person_ids=[person.id]))
    session = await stage.core.sessions.create(stage.who, NewSession(machine_id=group.id))
    stage.session_id = session.id
    turn = await stage.say("for ever")
    first = await stage.line.until(Say)
    await stage.core.sessions.cancel(stage.who, stage.session_id, "enough")
    await stage.line.until(Cancel)
    end = await stage.end(turn)
    assert end["cancelled"] is True
    errors = [one for one in await stage.events() if one["type"] == "person_error"]
    assert [one["code"] for one in errors] == ["CANCEL_TIMEOUT"]
    # What it says too late is not taken for an answer to the next message.
    turn = await stage.say("and now?")
    second = await stage.line.until(Say, 2)
    stage.does(first, "text_chunk", content="late")
    stage.does(second, "text_chunk", content="in time")
    stage.does(second, "execution_complete", content="in time")
    assert (await stage.end(turn))["content"] == "deaf: in time"
    texts = [one["content"] for one in await stage.events() if one["type"] == "text_chunk"]
    assert texts == ["in time"]


async def test_a_conversation_with_nothing_to_do_is_not_kept_in_memory(stage: Stage) -> None:
    async def live() -> int:
        gc.collect()
        return sum(isinstance(one, Conversation) for one in gc.get_objects())

    before = await live()  # of other tests, which pytest may hold on to
    turn = await stage.say("hello")
    stage.does(await stage.line.until(Say), "execution_complete", content="hi")
    await stage.end(turn)
    await eventually(live, lambda count: count <= before)
    log = await stage.core.log.open(stage.session_id)
    assert log.readers == ()


async def test_too_many_messages_at_once_are_refused_one_by_one(stage: Stage) -> None:
    turns = [await stage.say(f"m{number}") for number in range(limits.GROUP_TURNS_MAX + 1)]
    refused = await stage.end(turns[-1])
    assert "busy" in refused["error"]
    for number in range(1, limits.GROUP_TURNS_MAX + 1):
        say = await stage.line.until(Say, number)
        stage.does(say, "execution_complete", content=f"a{number}")
    for turn in turns[:-1]:
        assert (await stage.end(turn))["type"] == "execution_complete"


async def test_somebody_who_talks_to_a_person_directly_does_not_mix_with_the_group(
    stage: Stage,
) -> None:
    turn = await stage.say("hello")
    say = await stage.line.until(Say)
    await stage.core.sessions.send(stage.who, say.session_id, NewMessage(message="psst"))
    aside = await stage.line.until(Say, 2)
    stage.does(aside, "text_chunk", content="secret")
    stage.does(aside, "execution_complete", content="secret")
    stage.does(say, "text_chunk", content="hi")
    stage.does(say, "execution_complete", content="hi")
    assert (await stage.end(turn))["content"] == "alice: hi"
    assert "secret" not in str(await stage.events())


async def test_an_ask_is_found_again_however_much_was_said_to_its_person_since(
    stage: Stage, keys: Keys
) -> None:
    turn = await stage.say("hello")
    say = await stage.line.until(Say)
    for number in range(limits.PAGE_MAX + 1):
        new = NewMessage(message=f"psst {number}")
        await stage.core.sessions.send(stage.who, say.session_id, new)
        aside = await stage.line.until(Say, number + 2)
        stage.does(aside, "execution_complete", content="secret")
    stage = await restarted(stage, keys)
    stage.does(say, "execution_complete", content="hi")
    assert (await stage.end(turn))["content"] == "alice: hi"


async def test_an_answer_that_a_crash_kept_from_its_machine_is_passed_on(
    stage: Stage, keys: Keys
) -> None:
    turn = await stage.say("do it")
    say = await stage.line.until(Say)
    stage.does(say, "approval_request", request_id="q1", message="may I?")

    async def asked() -> list[Approval]:
        found = await stage.core.approvals.page(stage.who)
        return [one for one in found if one.session_id == stage.session_id]

    approval = (await eventually(asked))[0]
    await stage.core.sessions.answer(stage.who, approval.id, True, "sure", stage.session_id)
    stage = await restarted(stage, keys)
    answer = await stage.line.until(Answer)
    assert (answer.request_id, answer.confirmed, answer.answer) == ("q1", True, "sure")
    stage.does(say, "execution_complete", content="done")
    assert (await stage.end(turn))["content"] == "alice: done"


async def test_a_turn_whose_beginning_is_out_of_reach_ends_with_an_error(
    stage: Stage, keys: Keys
) -> None:
    turn = await stage.say("hello")
    say = await stage.line.until(Say)
    for number in range(2 * limits.EVENTS_PAGE_MAX):
        stage.does(say, "text_chunk", content=str(number))
    await stage.core.log.flushed()
    stage = await restarted(stage, keys, Tuning(group_turn_events_max=100))
    end = await stage.end(turn)
    assert (end["type"], end["code"]) == ("execution_error", "GROUP_FAILED")
    assert "too long" in end["error"]


async def test_what_a_crash_left_open_is_closed_at_the_next_start(stage: Stage) -> None:
    """The conversation was closed, or the seat never written, and then the power went."""
    turn = await stage.say("hello")
    say = await stage.line.until(Say)
    stage.does(say, "execution_complete", content="hi")
    await stage.end(turn)
    orphan = await stage.core.sessions.create(
        stage.who,
        NewSession(
            machine_id=stage.machine.id,
            session_config={"group": {"session_id": stage.session_id, "person_id": "p"}},
        ),
    )
    plain = await stage.core.sessions.create(stage.who, NewSession(machine_id=stage.machine.id))
    async with stage.core.store.write() as connection:
        table = schema.sessions
        await connection.execute(
            update(table).where(table.c.id == stage.session_id).values(status="closed")
        )
    await Groups.start(groups_of(stage.core, stage.core.sessions, Tuning(cancel_grace_s=1)))
    await stage.line.until(Stop, 2)
    for session_id, status in (
        (say.session_id, "closed"),
        (orphan.id, "closed"),
        (plain.id, "active"),
    ):
        assert (await stage.core.sessions.get(stage.who, session_id)).status == status


async def test_a_session_that_is_closed_while_a_person_is_seated_leaves_none_open(
    stage: Stage,
) -> None:
    await stage.say("hello")
    await stage.core.sessions.close(stage.who, stage.session_id)
    await stage.core.tasks.done()
    left = await stage.core.session_list.page(stage.who, SessionQuery(status="active"))
    assert left.items == []


async def test_a_group_that_is_removed_for_good_takes_the_sessions_of_its_persons_along(
    stage: Stage,
) -> None:
    """Also one whose seat a crash kept from being written."""
    await stage.say("hello")
    await stage.line.until(Say)
    group = {"session_id": stage.session_id, "person_id": "p"}
    new = NewSession(machine_id=stage.machine.id, session_config={"group": group})
    await stage.core.sessions.create(stage.who, new)
    plain = await stage.core.sessions.create(stage.who, NewSession(machine_id=stage.machine.id))
    await stage.core.erasing.erase(stage.who, stage.session_id)
    left = await stage.core.session_list.page(stage.who, SessionQuery())
    assert [one.id for one in left.items] == [plain.id]


class Interrupted:
    """The sessions, with something that happens right behind the making of one."""

    def __init__(self, sessions: Sessions, then: Callable[[], Awaitable[None]]) -> None:
        self._sessions = sessions
        self._then = then

    async def create(self, who: Principal, new: NewSession) -> Session:
        session = await self._sessions.create(who, new)
        await self._then()
        return session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)


async def test_a_person_that_is_removed_while_it_is_being_seated_leaves_no_session(
    stage: Stage,
) -> None:
    plain = stage.core.groups
    (person,) = (await plain.records.get(stage.who, stage.group_id)).persons
    sessions = Interrupted(stage.core.sessions, lambda: plain.remove_person(stage.who, person.id))
    await groups_of(stage.core, cast(Sessions, sessions), DEFAULT).start()
    end = await stage.end(await stage.say("hello"))
    assert (end["type"], end["code"]) == ("execution_error", "GROUP_FAILED")
    errors = [one["code"] for one in await stage.events() if one["type"] == "person_error"]
    assert errors == ["PERSON_NOT_FOUND"]
    stopped = await stage.line.until(Stop)
    left = await stage.core.session_list.page(stage.who, SessionQuery(status="active"))
    assert stopped.session_id not in [one.id for one in left.items]
    assert [one.id for one in left.items] == [stage.session_id]
