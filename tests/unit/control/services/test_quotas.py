"""How much a user may have: who says so, what is counted, and the one error at the end."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete, insert

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World, add_session, session_row
from tests.unit.control.services.test_skills import skill_zip
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.errors import Forbidden, InvalidRequest
from trunkline.control.quotas import NAMES, Owner, QuotaName, QuotaPatch, QuotaReached, Quotas
from trunkline.control.records.agents import Agents, NewAgent
from trunkline.control.records.people import Users
from trunkline.control.services.embeddings import BuiltIn
from trunkline.control.services.memories import Memories
from trunkline.control.services.skills import Skills
from trunkline.control.services.snapshots import Snapshots
from trunkline.control.settings import Settings, load
from trunkline.control.store import schema
from trunkline.control.stored_bytes import StoredBytes

LOG_BYTES = 1_000


async def sizes(session_ids: list[str]) -> dict[str, int]:
    return dict.fromkeys(session_ids, LOG_BYTES)


def with_defaults(world: World, **defaults: int) -> Quotas:
    settings = {f"quota_{name}": value for name, value in defaults.items()}
    return Quotas(world.store, msgspec.convert(settings, Settings), sizes)


async def used(quotas: Quotas, owner: Owner) -> dict[str, tuple[int, int, str]]:
    return {one.name: (one.used, one.max, one.source) for one in await quotas.usage(owner)}


Add = Callable[[], Awaitable[Any]]


def adding(world: World, keys: Keys, quotas: Quotas) -> dict[QuotaName, Add]:
    """What adds to each of them."""
    clock, store = FakeClock(), world.store
    auth = Auth(store, keys, "admin", clock)
    agents = Agents(store, Users(store, auth, clock), clock, quotas)
    memories = Memories(store, clock, BuiltIn(), quotas)
    versions = iter(range(100))

    async def session() -> None:
        async with store.write() as connection:
            await quotas.take(connection, "sessions", Owner(world.org, world.ann.user_id))
            await connection.execute(insert(schema.sessions).values(session_row(world.ann)))

    async def skill() -> None:
        await Skills(store, clock, quotas).import_zip(world.org, skill_zip(f"s{next(versions)}"))

    return {
        "sessions": session,
        "agents": lambda: agents.create(world.ann, NewAgent(name="a")),
        "memories": lambda: memories.add(world.org, world.ann.user_id, "the cat is called Tom"),
        "snapshot_bytes": lambda: Snapshots(store, clock, quotas).sync(world.session, {"a": "b"}),
        "skill_bytes": skill,
    }


@pytest.mark.parametrize("name", [one for one in NAMES if one != "stored_bytes"])
async def test_a_quota_that_is_full_says_how_much_is_used_and_what_can_be_done(
    world: World, keys: Keys, name: QuotaName
) -> None:
    owner = Owner(world.org, world.ann.user_id)
    before = (await used(with_defaults(world), owner))[name][0]
    await adding(world, keys, with_defaults(world))[name]()
    full = (await used(with_defaults(world), owner))[name][0]
    assert full > before
    quotas = with_defaults(world, **{name: full})
    with pytest.raises(QuotaReached) as caught:
        await adding(world, keys, quotas)[name]()
    error = caught.value
    assert (error.code, error.status) == ("QUOTA_REACHED", 429)
    assert error.details == {"quota": name, "used": full, "max": full}
    assert f"{full:,} of {full:,}" in error.message
    assert "first, or ask an administrator" in error.message
    assert (await used(quotas, owner))[name] == (full, full, "default")
    await adding(world, keys, with_defaults(world, **{name: 10 * full}))[name]()


@pytest.mark.parametrize("name", ["sessions", "agents", "memories"])
async def test_of_those_who_take_the_last_place_at_once_one_gets_it(
    world: World, keys: Keys, name: QuotaName
) -> None:
    owner = Owner(world.org, world.ann.user_id)
    before = (await used(with_defaults(world), owner))[name][0]
    quotas = with_defaults(world, **{name: before + 1})
    add = adding(world, keys, quotas)[name]
    outcomes = await asyncio.gather(*(add() for _ in range(4)), return_exceptions=True)
    assert [isinstance(one, QuotaReached) for one in outcomes].count(False) == 1, outcomes
    assert (await used(quotas, owner))[name][0] == before + 1


async def test_a_users_own_quota_comes_before_the_orgs_and_that_before_the_servers(
    world: World,
) -> None:
    quotas, ann, olga = with_defaults(world, agents=5, memories=6), world.ann, world.olga
    owner, other = Owner(world.org, ann.user_id), Owner(world.org, olga.user_id)
    await quotas.change_org(world.root, world.org, QuotaPatch(agents=50, skill_bytes=9))
    await quotas.change_user(olga, owner, QuotaPatch(agents=40, memories=0))
    found = await used(quotas, owner)
    assert (found["agents"], found["memories"]) == ((1, 40, "user"), (0, 0, "user"))
    assert found["skill_bytes"] == (0, 9, "org")
    assert (await used(quotas, other))["agents"] == (0, 50, "org")
    await quotas.change_user(olga, owner, QuotaPatch(agents=None))
    found = await used(quotas, owner)
    assert (found["agents"], found["memories"]) == ((1, 50, "org"), (0, 0, "user"))
    await quotas.change_org(world.root, world.org, QuotaPatch(agents=None, skill_bytes=None))
    assert (await used(quotas, owner))["agents"] == (1, 5, "default")


async def test_an_organisation_is_shown_what_it_gives_and_what_it_has(world: World) -> None:
    quotas = with_defaults(world, agents=5, skill_bytes=8)
    changed = await quotas.change_org(world.root, world.org, QuotaPatch(stored_bytes=7))
    found = {(one.name, one.of): (one.max, one.source, one.used) for one in changed}
    assert found["stored_bytes", "user"] == (7, "org", msgspec.UNSET)
    assert found["agents", "user"] == (5, "default", msgspec.UNSET)
    assert found["skill_bytes", "org"] == (8, "default", 0)
    assert {name for name, of in found if of == "user"} == set(NAMES) - {"skill_bytes"}
    assert await quotas.of_org(world.org) == changed


async def test_nobody_gives_themselves_or_others_more_than_they_may(world: World) -> None:
    quotas, owner = with_defaults(world), Owner(world.org, world.ann.user_id)
    for who in (world.ann, world.olga):
        with pytest.raises(Forbidden):
            await quotas.change_org(who, world.org, QuotaPatch(agents=9))
    with pytest.raises(Forbidden):
        await quotas.change_user(world.ann, owner, QuotaPatch(agents=9))
    with pytest.raises(Forbidden, match="may have 500"):
        await quotas.change_user(world.olga, owner, QuotaPatch(agents=501))
    with pytest.raises(Forbidden, match="organisation's"):
        await quotas.change_user(world.root, owner, QuotaPatch(skill_bytes=1))
    assert {one.source for one in await quotas.usage(owner)} == {"default"}
    await quotas.change_user(world.root, owner, QuotaPatch(agents=501))
    assert (await used(quotas, owner))["agents"] == (1, 501, "user")


async def test_the_operator_is_shown_who_is_near_the_end(world: World) -> None:
    quotas = with_defaults(world, agents=1, stored_bytes=LOG_BYTES)
    near = {(one.owner, one.name): (one.used, one.max) for one in await quotas.near()}
    stored = (LOG_BYTES, LOG_BYTES)
    assert near == {
        ("Ann", "agents"): (1, 1),
        ("Ann", "stored_bytes"): stored,
        ("Bob", "stored_bytes"): stored,
    }
    assert await with_defaults(world).near() == []


async def test_stored_bytes_are_counted_again_when_they_speak_against_somebody(
    world: World,
) -> None:
    now = FakeSeconds()
    quotas = with_defaults(world, stored_bytes=2 * LOG_BYTES)
    quotas.stored = StoredBytes(world.store, sizes, now)
    ann = world.ann.user_id
    await quotas.check_stored(ann)
    other = await add_session(world.store, world.ann)
    await quotas.check_stored(ann)  # of a minute ago
    now.s += 61
    with pytest.raises(QuotaReached, match=f"{2 * LOG_BYTES:,} of {2 * LOG_BYTES:,} stored bytes"):
        await quotas.check_stored(ann)
    await world.store.run(delete(schema.sessions).where(schema.sessions.c.id == other))
    now.s += 3
    await quotas.check_stored(ann)


class FakeSeconds:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "value", ["-1", "9223372036854775808", "NaN", "inf", "1.5", "many", "", "0x10", "1_0"]
)
def test_a_default_that_is_no_amount_is_refused_at_the_start(name: QuotaName, value: str) -> None:
    with pytest.raises(InvalidRequest, match=f"quota_{name}"):
        load(env={f"TRUNKLINE_QUOTA_{name.upper()}": value})


@pytest.mark.parametrize("value", [-1, 2**63, math.nan, math.inf, 1.5, "9", True, [], {}])
def test_an_amount_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"agents": value}, QuotaPatch)
