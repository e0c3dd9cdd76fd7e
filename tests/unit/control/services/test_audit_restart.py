"""A new chain behind a broken one, on both databases: begun openly, and nothing is made whole by
it. What was wrong stays told; what is done to it afterwards is named."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from tests.unit.control.services.test_audit import broken_at, change, fill
from trunkline.control.access.keys import Keys
from trunkline.control.errors import Conflict, InvalidRequest
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.audit import HEAD_CONTEXT, Audit
from trunkline.control.services.audit_chain import hash_of
from trunkline.control.services.audit_heads import AuditHeads, Head
from trunkline.control.store.service_schema import audit, audit_head

LOST = update(audit_head).values(sealed=b"of another key")
WRONG_HEAD = "the head is missing or sealed by another key"


async def test_behind_a_lost_key_the_log_goes_on_and_both_chains_are_told(
    world: World, services: Services
) -> None:
    await fill(services, world)
    await change(world.store, LOST)
    head = await services.audit.restart(world.root, "the key was lost in a fire")
    assert head.seq == 6
    assert services.audit.is_broken is False
    await fill(services, world, 2)
    found = await services.audit.verify()
    assert (found.ok, found.entries, found.first_broken) == (True, 8, None)
    (earlier,) = found.earlier
    assert (earlier.first, earlier.last) == (1, 5)
    assert (earlier.reason, earlier.broken) == (WRONG_HEAD, None)
    entry = (await services.audit.page(world.root, Paging(limit=3))).items[2]
    assert (entry.event, entry.source, entry.user_id) == (
        "audit.restarted",
        "control",
        world.root.user_id,
    )
    assert entry.details["reason"] == "the key was lost in a fire"
    assert entry.details["sealed_head"]


BROKEN = {
    "an edited entry": (update(audit).where(audit.c.seq == 3).values(at=1), 3),
    "a removed entry": (delete(audit).where(audit.c.seq == 3), 3),
    "a removed end": (delete(audit).where(audit.c.seq > 3), None),
    "no entries": (delete(audit), None),
    "no head": (delete(audit_head), None),
}


@pytest.mark.parametrize(("statement", "broken"), BROKEN.values(), ids=BROKEN)
async def test_what_was_wrong_before_stays_told(
    world: World, services: Services, statement: Any, broken: int | None
) -> None:
    await fill(services, world)
    await change(world.store, statement)
    reason = (await broken_at(services))[1]
    head = await services.audit.restart(world.root, "seen")
    assert head.seq == 6  # no number is given twice
    found = await services.audit.verify()
    assert found.ok
    (earlier,) = found.earlier
    assert earlier.reason == reason
    assert (None if earlier.broken is None else earlier.broken.seq) == broken


@pytest.mark.parametrize(
    "statement",
    [
        update(audit).where(audit.c.seq == 2).values(event="another"),
        update(audit).where(audit.c.seq == 4).values(hash="0" * 64),
        delete(audit).where(audit.c.seq == 5),
        delete(audit).where(audit.c.seq < 6),
        update(audit).where(audit.c.seq == 6).values(details='{"found":"nothing"}'),
        update(audit).where(audit.c.seq == 6).values(details="no JSON"),
    ],
)
async def test_an_earlier_chain_cannot_be_changed_afterwards_though_it_was_broken(
    world: World, services: Services, statement: Any
) -> None:
    await fill(services, world)
    await change(world.store, update(audit).where(audit.c.seq == 3).values(at=1))
    await services.audit.restart(world.root, "seen")
    await fill(services, world, 1)
    await change(world.store, statement)
    assert await broken_at(services) == (1, "entries 1 to 6 were changed after 6 was made")


async def test_behind_a_chain_that_was_changed_afterwards_a_new_one_is_begun_as_openly(
    world: World, services: Services
) -> None:
    await fill(services, world, 3)
    await change(world.store, LOST)
    await services.audit.restart(world.root, "lost")  # 4
    await fill(services, world, 1)
    await change(world.store, update(audit).where(audit.c.seq == 2).values(event="another"))
    changed = "entries 1 to 4 were changed after 4 was made"
    assert await broken_at(services) == (1, changed)
    assert (await services.audit.restart(world.root, "seen")).seq == 6
    await fill(services, world, 1)
    found = await services.audit.verify()
    assert found.ok
    assert [(one.first, one.last, one.reason) for one in found.earlier] == [
        (1, 3, WRONG_HEAD),
        (4, 5, changed),
    ]
    first, second = (one.broken for one in found.earlier)
    assert first is not None
    assert first.seq == 2
    assert second is None
    # What whoever asks has noted still counts, and nothing before it can be changed once more.
    assert not (await services.audit.verify({2: "ab" * 32})).ok
    await change(world.store, update(audit).where(audit.c.seq == 1).values(event="another"))
    assert not (await services.audit.verify()).ok
    await services.audit.restart(world.root, "and again")
    assert (await services.audit.verify()).ok


async def test_a_second_chain_of_an_earlier_version_is_as_whole_as_it_was(
    world: World, services: Services, keys: Keys
) -> None:
    """It began with the hash of the chain before it alone: that does not speak of the first."""
    await fill(services, world, 1)
    for _ in range(2):
        await change(world.store, LOST)
        await services.audit.restart(world.root, "lost")
    async with world.store.write() as connection:
        rows = [row._asdict() for row in await connection.execute(select(audit))]
        second, third = sorted(rows, key=lambda row: int(row["seq"]))[1:]
        alone = sha256(f"{second['hash']}{second['hash']}".encode()).hexdigest()
        third["prev_hash"] = alone
        third["hash"] = hash_of(third)
        await connection.execute(update(audit).where(audit.c.seq == 3).values(third))
        sealed = keys.seal(f'{{"seq":3,"hash":"{third["hash"]}"}}', HEAD_CONTEXT)
        await connection.execute(update(audit_head).values(sealed=sealed))
    assert (await services.audit.verify()).ok
    await change(world.store, update(audit).where(audit.c.seq == 1).values(event="another"))
    assert not (await services.audit.verify()).ok
    await services.audit.restart(world.root, "seen")
    assert (await services.audit.verify()).ok


async def test_who_has_only_the_database_cannot_begin_a_chain(
    world: World, services: Services
) -> None:
    await fill(services, world)
    async with world.store.write() as connection:
        row = (await connection.execute(select(audit).where(audit.c.seq == 5))).one()._asdict()
        forged = {**row, "seq": 6, "event": "audit.restarted", "details": '{"found":"x"}'}
        await connection.execute(insert(audit).values({**forged, "hash": hash_of(forged)}))
    assert not (await services.audit.verify()).ok


async def test_a_machine_that_says_so_begins_none(world: World, services: Services) -> None:
    await fill(services, world, 1)
    await services.audit.append("audit.restarted", {"found": "x"}, source="machine")
    found = await services.audit.verify()
    assert (found.ok, found.earlier) == (True, [])


async def test_a_whole_log_is_not_begun_anew(world: World, services: Services) -> None:
    await fill(services, world)
    with pytest.raises(Conflict) as caught:
        await services.audit.restart(world.root, "to hide something")
    assert caught.value.code == "AUDIT_WHOLE"
    await change(world.store, LOST)
    with pytest.raises(InvalidRequest):
        await services.audit.restart(world.root, "")


async def test_a_chain_can_be_lost_more_than_once(world: World, services: Services) -> None:
    await fill(services, world, 2)
    for _ in range(2):
        await change(world.store, LOST)
        await services.audit.restart(world.root, "again")
    found = await services.audit.verify()
    assert found.ok
    assert [(one.first, one.last) for one in found.earlier] == [(1, 2), (3, 3)]
    await change(world.store, update(audit).where(audit.c.seq == 1).values(at=1))
    assert (await broken_at(services))[0] == 1


async def test_noted_heads_count_for_the_chain_that_they_are_of(
    world: World, keys: Keys, clock: FakeClock, tmp_path: Path
) -> None:
    heads = AuditHeads(tmp_path / "heads", entries_per_line=1)
    log = Audit(world.store, keys, clock, heads)
    await log.start()
    for _ in range(3):
        await log.append("tool.run")
        await log.anchor()
    await change(world.store, delete(audit).where(audit.c.seq == 3))
    await change(world.store, LOST)
    assert (await log.restart(world.root, "seen")).seq == 4
    assert heads.newest is not None
    assert heads.newest.seq == 4
    found = await log.verify()
    assert found.ok
    (earlier,) = found.earlier
    assert earlier.broken is not None
    assert "entries 3 to 3 are missing" in earlier.broken.reason
    # What whoever asks has noted is never passed over, whichever chain it is of.
    assert not (await log.verify({3: "ab" * 32})).ok
    assert not (await log.verify({1: "ab" * 32})).ok
    assert not (await log.verify({9: "ab" * 32})).ok
    heads.note(Head(5, "ab" * 32), 1, always=True)
    assert not (await log.verify()).ok
