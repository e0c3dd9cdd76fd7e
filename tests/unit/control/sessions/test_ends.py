"""A turn ends once: which ends of a machine count, and what of that the records bring back."""

import pytest
from sqlalchemy import insert, update

from tests.unit.control.conftest import FakeClock
from tests.unit.control.services.conftest import add_org, add_session, add_user
from trunkline.control.sessions.ends import _ENDED_KEPT, Ends, load_ends
from trunkline.control.sessions.turns import Turns
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


def given(*turns: str) -> Ends:
    ends = Ends()
    for turn in turns:
        ends.gave("s", turn)
    return ends


def test_an_end_is_that_of_the_turn_it_names() -> None:
    ends = given("one", "two")
    assert ends.end("s", "two") == "two"
    assert ends.given("s") == ["one"]


@pytest.mark.parametrize("name", [None, "an id of its own"])
def test_an_end_without_a_name_of_ours_is_that_of_the_oldest_turn(name: str | None) -> None:
    ends = given("one", "two")
    assert ends.late("s", name) is None
    assert [ends.end("s", name) for _ in range(3)] == ["one", "two", None]


def test_an_end_that_comes_again_is_late() -> None:
    ends = given("one")
    assert ends.late("s", "one") is None
    ends.end("s", "one")
    assert ends.late("s", "one") == "one"


def test_a_turn_is_closed_once() -> None:
    ends = given("one")
    assert ends.close("s", "one")
    assert not ends.close("s", "one")
    assert ends.end("s", None) is None


@pytest.mark.parametrize("name", [None, "an id of its own"])
def test_an_end_that_the_machine_owes_is_late_once(name: str | None) -> None:
    ends = given("one")
    ends.close("s", "one")
    ends.owe("s", "one")
    assert ends.late("other session", name) is None
    assert ends.late("s", name) == "one"
    assert ends.late("s", name) is None


def test_a_new_message_makes_an_end_without_a_name_believable() -> None:
    ends = given("one")
    ends.close("s", "one")
    ends.owe("s", "one")
    ends.gave("s", "two")
    assert ends.late("s", None) is None
    assert ends.end("s", None) == "two"
    assert ends.late("s", "one") == "one"


def test_a_turn_that_has_its_end_is_not_given_again() -> None:
    ends = given("one")
    ends.end("s", "one")
    ends.gave("s", "one")
    assert ends.given("s") == []


def test_only_the_newest_ends_are_kept() -> None:
    ends = Ends()
    for number in range(_ENDED_KEPT + 1):
        ends.close("s", str(number))
    assert not ends.has_ended("0")
    assert ends.has_ended("1")


# --- Records -------------------------------------------------------------------------------------


@pytest.fixture
async def session(store: Store) -> str:
    return await add_session(store, await add_user(store, await add_org(store, "Acme"), "Ann"))


async def loaded(store: Store, *sessions: str) -> Ends:
    async with store.read() as connection:
        return await load_ends(connection, list(sessions))


async def opened(turns: Turns, session: str, text: str) -> str:
    turn, _ = await turns.open(session, text, {}, None)
    return turn.id


async def test_the_records_bring_back_what_was_given_ended_and_owed(
    store: Store, clock: FakeClock, session: str
) -> None:
    turns = Turns(store, clock)
    ours, theirs, sent, queued = [await opened(turns, session, text) for text in "abcd"]
    await turns.finish(theirs, "completed", "done")
    await turns.sent(session, sent)
    await turns.finish(ours, "failed", None, owed=True)
    ends = await loaded(store, session)
    assert sorted(ends.given(session)) == sorted([sent, queued])
    assert ends.has_ended(ours)
    assert ends.late(session, theirs) == theirs
    assert ends.late(session, None) == ours
    assert ends.late(session, None) is None


async def test_an_owed_end_is_owed_until_it_comes_or_a_message_goes_out(
    store: Store, clock: FakeClock, session: str
) -> None:
    turns = Turns(store, clock)
    first, second = [await opened(turns, session, text) for text in "ab"]
    await turns.finish(first, "failed", None, owed=True)
    await turns.paid(first)
    assert (await loaded(store, session)).late(session, None) is None
    await turns.finish(second, "failed", None, owed=True)
    assert (await loaded(store, session)).late(session, None) == second
    third = await opened(turns, session, "c")
    await turns.sent(session, third, settles=False)
    assert (await loaded(store, session)).late(session, None) == second
    await turns.sent(session, third)
    assert (await loaded(store, session)).late(session, None) is None


async def test_a_record_that_says_of_an_ended_turn_that_it_was_sent_changes_nothing(
    store: Store, clock: FakeClock, session: str
) -> None:
    """A session is closed right after a message went out."""
    turns = Turns(store, clock)
    turn = await opened(turns, session, "a")
    await turns.finish(turn, "failed", None, owed=True)
    await turns.sent(session, turn)
    assert (await loaded(store, session)).late(session, None) == turn


async def test_a_machine_with_very_many_sessions_is_loaded_too(
    sqlite_store: Store, clock: FakeClock
) -> None:
    ann = await add_user(sqlite_store, await add_org(sqlite_store, "Acme"), "Ann")
    sessions = [await add_session(sqlite_store, ann)]
    async with sqlite_store.write() as connection:
        row = schema.sessions.select().where(schema.sessions.c.id == sessions[0])
        template = dict((await connection.execute(row)).mappings().one())
        for number in range(1100):
            template["id"] = f"session-{number}"
            sessions.append(template["id"])
            await connection.execute(insert(schema.sessions).values(template))
    turns = Turns(sqlite_store, clock)
    asked = [await opened(turns, one, "a") for one in (sessions[0], sessions[-1])]
    async with sqlite_store.write() as connection:
        await connection.execute(update(schema.turns).values(state="failed", owed=True))
    ends = await loaded(sqlite_store, *sessions)
    assert [ends.late(one, None) for one in (sessions[0], sessions[-1])] == asked
