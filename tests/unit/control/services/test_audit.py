"""The audit chain: what is done to it behind our back is named, on both databases."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from sqlalchemy import delete, insert, select, update

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.errors import InvalidRequest, TooLarge, Unavailable
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.audit import DETAILS_BYTES_MAX, Audit, AuditFilter
from trunkline.control.services.audit_chain import hash_of
from trunkline.control.services.audit_heads import AuditHeads
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import audit, audit_head


async def fill(services: Services, world: World, count: int = 5) -> None:
    for number in range(1, count + 1):
        await services.audit.append(
            "tool.run",
            {"n": number, "名": "值"},
            org_id=world.org,
            user_id=world.ann.user_id,
            session_id=world.session,
        )


async def change(store: Store, statement: Any) -> None:
    async with store.write() as connection:
        await connection.execute(statement)


async def broken_at(services: Services) -> tuple[int, str]:
    found = await services.audit.verify()
    assert not found.ok
    assert found.first_broken is not None
    return found.first_broken.seq, found.first_broken.reason


async def test_an_untouched_log_is_sound(world: World, services: Services) -> None:
    empty = await services.audit.verify()
    assert (empty.ok, empty.entries, empty.first_broken) == (True, 0, None)
    await fill(services, world)
    found = await services.audit.verify()
    assert (found.ok, found.entries, found.first_broken) == (True, 5, None)
    newest = (await services.audit.page(world.root, Paging(limit=1))).items[0]
    assert found.head == newest.hash


@pytest.mark.parametrize(
    "edit",
    [
        {"details": '{"n":99}'},
        {"event": "tool.ran"},
        {"at": 1},
        {"user_id": None},
        {"session_id": "other"},
        {"source": "machine"},
        {"source": None},
        {"org_id": "other"},
        {"hash": "0" * 64},
    ],
)
async def test_an_edited_entry_is_named(
    world: World, services: Services, edit: dict[str, Any]
) -> None:
    await fill(services, world)
    await change(world.store, update(audit).where(audit.c.seq == 3).values(**edit))
    assert await broken_at(services) == (3, "entry 3 was changed")


async def test_an_edited_entry_with_a_fitting_hash_breaks_the_next_link(
    world: World, services: Services
) -> None:
    await fill(services, world)
    async with world.store.write() as connection:
        row = (await connection.execute(select(audit).where(audit.c.seq == 3))).one()._asdict()
        row["details"] = "{}"
        await connection.execute(
            update(audit).where(audit.c.seq == 3).values(details="{}", hash=hash_of(row))
        )
    assert await broken_at(services) == (4, "entry 4 does not follow the entry before it")


@pytest.mark.parametrize("gone", [1, 3])
async def test_a_removed_entry_is_named(world: World, services: Services, gone: int) -> None:
    await fill(services, world)
    await change(world.store, delete(audit).where(audit.c.seq == gone))
    assert await broken_at(services) == (
        gone,
        f"entry {gone} is missing; the next one is {gone + 1}",
    )


async def test_removed_newest_entries_are_named(world: World, services: Services) -> None:
    await fill(services, world)
    await change(world.store, delete(audit).where(audit.c.seq > 3))
    assert await broken_at(services) == (4, "entries 4 to 5 are missing")
    await change(world.store, delete(audit))
    assert await broken_at(services) == (1, "entries 1 to 5 are missing")


async def test_entries_in_another_order_are_named(world: World, services: Services) -> None:
    await fill(services, world)
    for old, new in ((2, 100), (3, 2), (100, 3)):
        await change(world.store, update(audit).where(audit.c.seq == old).values(seq=new))
    assert (await broken_at(services))[0] == 2


async def test_a_chain_computed_anew_does_not_fit_the_sealed_head(
    world: World, services: Services
) -> None:
    await fill(services, world)
    async with world.store.write() as connection:
        rows = (await connection.execute(select(audit).order_by(audit.c.seq))).all()
        prev = "0" * 64
        for row in rows:
            entry = {**row._asdict(), "details": '{"forged":true}', "prev_hash": prev}
            prev = entry["hash"] = hash_of(entry)
            await connection.execute(update(audit).where(audit.c.seq == row.seq).values(**entry))
    assert await broken_at(services) == (5, "the chain was computed anew")


async def test_an_entry_added_past_the_head_is_named(world: World, services: Services) -> None:
    await fill(services, world)
    async with world.store.write() as connection:
        last = (await connection.execute(select(audit).where(audit.c.seq == 5))).one()._asdict()
        entry = {**last, "seq": 6, "prev_hash": last["hash"]}
        await connection.execute(insert(audit).values({**entry, "hash": hash_of(entry)}))
    assert await broken_at(services) == (6, "entry 6 was added past the head")


async def test_an_entry_before_the_first_is_named(world: World, services: Services) -> None:
    await fill(services, world)
    await change(world.store, update(audit).where(audit.c.seq == 3).values(seq=-7))
    assert (await broken_at(services))[0] == 1


async def test_a_lost_or_foreign_head_is_named_and_nothing_is_sealed_over_it(
    world: World, services: Services, clock: FakeClock
) -> None:
    await fill(services, world)
    other = Keys(generate_private_key(public_exponent=65537, key_size=2048), bytes(32))
    forged = other.seal('{"seq":5,"hash":"x"}', "audit:head")
    for statement in (update(audit_head).values(sealed=forged), delete(audit_head)):
        await change(world.store, statement)
        assert (await broken_at(services))[1].startswith("the head is missing or sealed")
        with pytest.raises(Unavailable) as caught:
            await fill(services, world, 1)
        assert caught.value.code == "AUDIT_BROKEN"


async def test_entries_added_at_once_form_one_chain(
    world: World, services: Services, keys: Keys, clock: FakeClock
) -> None:
    other_node = Audit(Store(world.store.engine), keys, clock)
    writers = [services.audit, services.audit if world.store.is_sqlite else other_node]
    numbers = await asyncio.gather(*(writers[n % 2].append(f"e{n}") for n in range(30)))
    assert sorted(numbers) == list(range(1, 31))
    assert (await services.audit.verify()).ok


async def test_verifying_while_entries_are_added_finds_nothing_wrong(
    world: World, services: Services, keys: Keys, clock: FakeClock
) -> None:
    reader = Audit(world.store, keys, clock, chunk_rows=3)
    await fill(services, world, 10)
    checks = asyncio.gather(*(reader.verify() for _ in range(10)))
    await asyncio.gather(*(services.audit.append(f"e{n}") for n in range(20)))
    assert all(outcome.ok for outcome in await checks)
    assert (await services.audit.verify()).entries == 30


async def test_members_see_their_own_entries_org_admins_their_orgs(
    world: World, services: Services
) -> None:
    for org_id, user_id in (
        (world.org, world.ann.user_id),
        (world.org, world.olga.user_id),
        (world.org, None),
        (world.other_org, world.bob.user_id),
        (None, None),
    ):
        await services.audit.append("x", org_id=org_id, user_id=user_id)

    async def seen(who: Any) -> list[int]:
        return [entry.seq for entry in (await services.audit.page(who, Paging())).items]

    assert await seen(world.ann) == [1]
    assert await seen(world.olga) == [3, 2, 1]
    assert await seen(world.bob) == [4]
    assert await seen(world.root) == [5, 4, 3, 2, 1]


async def test_the_list_comes_in_pages_with_details_as_objects(
    world: World, services: Services
) -> None:
    await fill(services, world)
    first = await services.audit.page(world.ann, Paging(limit=2))
    second = await services.audit.page(world.ann, Paging(limit=2, cursor=first.next_cursor))
    third = await services.audit.page(world.ann, Paging(limit=2, cursor=second.next_cursor))
    seen = [entry.seq for page in (first, second, third) for entry in page.items]
    assert seen == [5, 4, 3, 2, 1]
    assert third.next_cursor is None
    assert first.items[0].details == {"n": 5, "名": "值"}


@pytest.mark.parametrize(
    ("wanted", "seqs"),
    [
        ({"event": "token."}, [2, 1]),
        ({"event": "token.issued"}, [1]),
        ({"event": "token_"}, []),
        ({"event": "%"}, []),
        ({"text": "LAPTOP"}, [3, 1]),
        ({"text": "revoked"}, [2]),
        ({"text": "100%"}, [3]),
        ({"text": "名"}, [2]),
        ({"source": "machine"}, [3]),
        ({"session_id": "s-1"}, [3]),
        ({"user_id": "ann", "event": "token."}, [1]),
        ({"user_id": "nobody"}, []),
        ({"since": 2_000, "until": 3_000}, [2]),
        ({"since": 9_000}, []),
    ],
)
async def test_entries_are_found_by_who_what_when_and_words(
    world: World, services: Services, clock: FakeClock, wanted: dict[str, Any], seqs: list[int]
) -> None:
    people = {"ann": world.ann.user_id, "olga": world.olga.user_id}
    of_machine: dict[str, Any] = {"source": "machine", "session_id": "s-1"}
    for at, event, user, details, more in (
        (1_000, "token.issued", "ann", {"label": "laptop"}, {}),
        (2_000, "token.revoked", "olga", {"名": 1}, {}),
        (3_000, "tool.run", "ann", {"on": "Laptop 100%"}, of_machine),
    ):
        clock.now_ms = at
        about: dict[str, Any] = {"org_id": world.org, "user_id": people[user], **more}
        await services.audit.append(event, details, **about)
    if "user_id" in wanted:
        wanted = {**wanted, "user_id": people.get(wanted["user_id"], "nobody")}
    page = await services.audit.page(world.root, Paging(), AuditFilter(**wanted))
    assert [entry.seq for entry in page.items] == seqs
    # A filter opens nobody's eyes for what is not theirs.
    assert (await services.audit.page(world.bob, Paging(), AuditFilter(**wanted))).items == []


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1; --", "٣", "9" * 30])
async def test_a_bad_cursor_is_refused(sqlite_services: Services, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        await sqlite_services.audit.page(
            Principal("u", "o", "admin"), Paging(limit=5, cursor=cursor)
        )


@pytest.mark.parametrize(
    ("event", "details", "kind"),
    [
        ("", {}, InvalidRequest),
        ("x" * 201, {}, TooLarge),
        ("a\x00", {}, InvalidRequest),
        ("x", {"a": "y" * DETAILS_BYTES_MAX}, TooLarge),
        ("x", {"a": float("nan")}, InvalidRequest),
        ("x", {"a": "\ud800"}, InvalidRequest),
        ("x", {"a": object()}, InvalidRequest),
    ],
)
async def test_what_is_no_entry_is_refused(
    sqlite_services: Services, event: str, details: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await sqlite_services.audit.append(event, details)
    assert (await sqlite_services.audit.verify()).entries == 0


async def test_odd_but_legal_details_survive(world: World, services: Services) -> None:
    odd = {"nul": "\x00", "emoji": "🎉", "big": 2**60, "deep": [[[[]]]], "": None}
    await services.audit.append("x", odd, user_id=world.ann.user_id, org_id=world.org)
    assert (await services.audit.verify()).ok
    (entry,) = (await services.audit.page(world.ann, Paging())).items
    assert entry.details == odd


async def test_a_log_from_before_there_were_sources_stays_sound_and_goes_on(
    sqlite_store: Store, keys: Keys, clock: FakeClock, tmp_path: Path
) -> None:
    """Its entries were hashed by these seven fields."""
    prev, names = "0" * 64, ("seq", "at", "org_id", "user_id", "session_id", "event", "details")
    async with sqlite_store.write() as connection:
        for seq in (1, 2):
            entry = dict(zip(names, (seq, 5, "o", "u", None, "tool.run", '{"n":1}'), strict=True))
            plain = json.dumps(entry, sort_keys=True, separators=(",", ":"))
            digest = hashlib.sha256((prev + plain).encode()).hexdigest()
            await connection.execute(insert(audit).values(**entry, prev_hash=prev, hash=digest))
            prev = digest
        sealed = keys.seal(json.dumps({"seq": 2, "hash": prev}), "audit:head")
        await connection.execute(update(audit_head).values(seq=2, sealed=sealed))
    log = Audit(sqlite_store, keys, clock, AuditHeads(tmp_path / "audit-heads"))
    await log.start()
    assert (await log.verify()).ok
    await log.append("token.issued")
    found = await log.verify()
    assert (found.ok, found.entries) == (True, 3)
