"""Persons, groups and seats as they are stored, on both databases."""

import pytest

from tests.unit.control.conftest import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.access.keys import Keys
from trunkline.control.errors import Conflict, Forbidden, InvalidRequest, LimitReached, NotFound
from trunkline.control.groups.persons import NewPerson, PersonPatch, Persons
from trunkline.control.groups.records import GroupPatch, GroupRecords, NewGroup
from trunkline.control.groups.seat import SeatRecord, Seats
from trunkline.control.ids import new_id
from trunkline.control.records.page import Paging
from trunkline.control.records.people import Users
from trunkline.control.store.columns import records
from trunkline.control.store.engine import Store


class Book:
    def __init__(self, store: Store, keys: Keys, clock: FakeClock, people: People) -> None:
        users = Users(store, Auth(store, keys, "admin", clock), clock)
        self.store = store
        self.people = people
        self.persons = Persons(store, users, clock)
        self.groups = GroupRecords(store, users, clock)
        self.seats = Seats(store, clock)
        self._made_with = store, users, clock

    def per_user_max(self, count: int) -> None:
        """Of either, from here on."""
        self.persons = Persons(*self._made_with, per_user_max=count)
        self.groups = GroupRecords(*self._made_with, per_user_max=count)

    async def person(self, who: Principal, name: str) -> str:
        return (await self.persons.create(who, NewPerson(name=name))).id

    async def insert(self, table: str, **row: object) -> None:
        async with self.store.write() as connection:
            await connection.execute(records.tables[table].insert().values(row))

    async def session(self, who: Principal, machine_id: str | None = None, **config: object) -> str:
        session_id = new_id()
        await self.insert(
            "sessions",
            id=session_id,
            org_id=who.org_id,
            user_id=who.user_id,
            machine_id=machine_id,
            runtime_type="semigraph",
            agent_config={},
            session_config=config,
            status="active",
            updated_at=1,
            created_at=1,
        )
        return session_id


@pytest.fixture
async def book(store: Store, keys: Keys, clock: FakeClock) -> Book:
    return Book(store, keys, clock, await People.settle(store, clock))


async def test_a_name_is_one_users_once(book: Book) -> None:
    ann, bob = book.people.ann, book.people.bob
    alice = await book.person(ann, "alice")
    await book.person(bob, "alice")
    with pytest.raises(Conflict) as refused:
        await book.person(ann, "alice")
    assert refused.value.code == "NAME_TAKEN"
    await book.person(ann, "carol")
    with pytest.raises(Conflict):
        await book.persons.change(ann, alice, PersonPatch(name="carol"))
    await book.groups.create(ann, NewGroup(name="team"))
    other = await book.groups.create(ann, NewGroup(name="other"))
    await book.groups.create(bob, NewGroup(name="team"))
    with pytest.raises(Conflict):
        await book.groups.create(ann, NewGroup(name="team"))
    with pytest.raises(Conflict):
        await book.groups.change(ann, other.id, GroupPatch(name="team"))
    assert (await book.groups.change(ann, other.id, GroupPatch(name="other"))).name == "other"


async def test_a_name_typed_in_another_way_is_the_same_name(book: Book) -> None:
    await book.person(book.people.ann, "Jos\u00e9")
    with pytest.raises(Conflict):
        await book.person(book.people.ann, "Jose\u0301")
    # Mentions are found in any case: two names of that kind could not be told apart.
    with pytest.raises(Conflict) as refused:
        await book.person(book.people.ann, "JOS\u00c9")
    assert "'Jos\u00e9' is taken" in refused.value.message
    maria = await book.person(book.people.ann, "maria")
    with pytest.raises(Conflict):
        await book.persons.change(book.people.ann, maria, PersonPatch(name="jos\u00e9"))
    renamed = await book.persons.change(book.people.ann, maria, PersonPatch(name="Maria"))
    assert renamed.name == "Maria"


@pytest.mark.parametrize("name", ["all", "ALL", "user", "a b", "a\n", "-", "@alice", "x\u200by"])
async def test_a_name_that_cannot_be_mentioned_is_refused(sqlite_store: Store, name: str) -> None:
    clock = FakeClock()
    people = await People.settle(sqlite_store, clock)
    users = Users(sqlite_store, None, clock)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        await Persons(sqlite_store, users, clock).create(people.ann, NewPerson(name=name))
    with pytest.raises(InvalidRequest):
        await GroupRecords(sqlite_store, users, clock).create(people.ann, NewGroup(name=name))


async def test_a_group_holds_persons_of_its_user_in_their_order(book: Book) -> None:
    ann, bob = book.people.ann, book.people.bob
    ids = [await book.person(ann, name) for name in ("a", "b", "c")]
    foreign = await book.person(bob, "b")
    group = await book.groups.create(ann, NewGroup(name="team", person_ids=[ids[2], ids[0]]))
    assert [one.name for one in group.persons] == ["c", "a"]
    group = await book.groups.change(ann, group.id, GroupPatch(person_ids=ids))
    assert [one.name for one in group.persons] == ["a", "b", "c"]
    for wrong in ([foreign], [ids[0], new_id()]):
        with pytest.raises(NotFound):
            await book.groups.change(ann, group.id, GroupPatch(person_ids=wrong))
    with pytest.raises(InvalidRequest):
        await book.groups.change(ann, group.id, GroupPatch(person_ids=[ids[0], ids[0]]))
    assert [one.name for one in (await book.groups.get(ann, group.id)).persons] == ["a", "b", "c"]
    await book.persons.remove(ids[1])
    assert [one.name for one in (await book.groups.get(ann, group.id)).persons] == ["a", "c"]


async def test_members_see_their_own_and_admins_their_orgs(book: Book) -> None:
    people = book.people
    person = await book.person(people.ann, "alice")
    group = await book.groups.create(people.ann, NewGroup(name="team", person_ids=[person]))
    for who in (people.ann, people.orla, people.ada):
        assert (await book.persons.get(who, person)).name == "alice"
        assert (await book.groups.get(who, group.id)).name == "team"
        assert [one.id for one in (await book.groups.page(who, Paging())).items] == [group.id]
    for who in (people.bob, people.zoe, people.olaf):
        with pytest.raises(NotFound):
            await book.persons.get(who, person)
        with pytest.raises(NotFound):
            await book.groups.get(who, group.id)
        assert (await book.persons.page(who, Paging())).items == []
        assert (await book.groups.page(who, Paging())).items == []


async def test_nobody_changes_what_is_of_somebody_above_them(book: Book) -> None:
    orla, ada = book.people.orla, book.people.ada
    person = await book.person(ada, "alice")
    group = await book.groups.create(ada, NewGroup(name="team"))
    with pytest.raises(Forbidden):
        await book.persons.change(orla, person, PersonPatch(prompt="obey"))
    with pytest.raises(Forbidden):
        await book.groups.change(orla, group.id, GroupPatch(name="mine"))


async def test_persons_and_groups_of_one_user_are_bounded(book: Book) -> None:
    book.per_user_max(1)
    await book.person(book.people.ann, "a")
    await book.groups.create(book.people.ann, NewGroup(name="a"))
    with pytest.raises(LimitReached):
        await book.person(book.people.ann, "b")
    with pytest.raises(LimitReached):
        await book.groups.create(book.people.ann, NewGroup(name="b"))


async def test_a_seat_is_kept_replaced_and_found(book: Book) -> None:
    ann = book.people.ann
    person = await book.person(ann, "alice")
    group = await book.groups.create(ann, NewGroup(name="team", person_ids=[person]))
    talk = await book.session(ann, group.id)
    first, second = await book.session(ann), await book.session(ann)
    await book.seats.put(SeatRecord(talk, person, first, 0, 0))
    await book.seats.told(SeatRecord(talk, person, first, 7, 9))
    assert (await book.seats.of(talk))[person] == SeatRecord(talk, person, first, 7, 9)
    for wanted in (
        {"person_id": person},
        {"session_id": talk},
        {"group_id": group.id},
        {"group_id": group.id, "person_id": person},
    ):
        assert await book.seats.sessions_of(**wanted) == [first]
    assert await book.seats.sessions_of(group_id=new_id()) == []
    await book.seats.put(SeatRecord(talk, person, second, 0, 0))
    assert await book.seats.sessions_of(session_id=talk) == [second]
    await book.persons.remove(person)
    assert await book.seats.of(talk) == {}


async def test_sessions_of_persons_that_nobody_needs_are_found(book: Book) -> None:
    ann = book.people.ann
    person = await book.person(ann, "alice")
    talk = await book.session(ann)
    seated = await book.session(ann, group={"session_id": talk})
    orphan = await book.session(ann, group={"session_id": talk})
    await book.session(ann, group="odd")
    await book.session(ann, max_turns=50)
    await book.seats.put(SeatRecord(talk, person, seated, 0, 0))
    assert await book.seats.left_over() == [(orphan, ann.user_id, ann.org_id)]
