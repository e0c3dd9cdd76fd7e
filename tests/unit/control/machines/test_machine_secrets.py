"""Who may be a user's device or agent, and how many there may be."""

import asyncio

import pytest
from sqlalchemy import update

from tests.unit.control.conftest import FakeClock
from tests.unit.control.people import People
from trunkline.control.errors import LimitReached, Unauthorized
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import machines


async def _give_up(store: Store, machine_id: str) -> None:
    async with store.write() as connection:
        await connection.execute(
            update(machines).where(machines.c.id == machine_id).values(state="terminated")
        )


async def test_a_device_that_is_a_device_again_counts_as_one(
    store: Store, clock: FakeClock
) -> None:
    secrets, ann = (
        MachineSecrets(store, clock, devices_max=2),
        (await People.settle(store, clock)).ann,
    )
    first, old = await secrets.issue_device(ann.user_id, "first", [])
    await _give_up(store, first.machine_id)
    for guid in ("second", "third"):
        await secrets.issue_device(ann.user_id, guid, [])
    with pytest.raises(LimitReached):
        await secrets.issue_device(ann.user_id, "first", [])
    with pytest.raises(Unauthorized):  # it is still given up
        await secrets.by_token(old)
    third, _ = await secrets.issue_device(ann.user_id, "third", [])  # a new token for one of two
    await _give_up(store, third.machine_id)
    _, token = await secrets.issue_device(ann.user_id, "first", [])
    assert await secrets.by_token(token) == first
    with pytest.raises(LimitReached):
        await secrets.issue_device(ann.user_id, "third", [])


async def test_how_many_devices_one_user_has_says_nothing_of_another_user_or_of_agents(
    store: Store, clock: FakeClock
) -> None:
    secrets, people = MachineSecrets(store, clock, devices_max=2), await People.settle(store, clock)
    for guid in ("first", "second"):
        await secrets.issue_device(people.ann.user_id, guid, [])
    await secrets.issue_device(people.bob.user_id, "third", [])
    await secrets.issue_agent(people.ann.user_id, "builder")


# Agents that are found by their owner's secret


@pytest.mark.proves("notes-3-instance-names-the-agent")
async def test_an_agent_is_made_at_first_sight_and_known_by_its_instance(
    store: Store, clock: FakeClock
) -> None:
    secrets, people = MachineSecrets(store, clock), await People.settle(store, clock)
    ann, bob = people.ann.user_id, people.bob.user_id
    first = await secrets.instance(ann, "i-1", "laptop")
    assert first.user_id == ann
    assert await secrets.instance(ann, "i-1", "another name") == first
    others = {
        (await secrets.instance(user_id, instance, "laptop")).machine_id
        for user_id, instance in ((ann, "i-2"), (bob, "i-1"), (ann, "I-1"))
    }
    assert len(others) == 3
    assert first.machine_id not in others


async def test_an_agents_instance_is_made_once_by_however_many_lines(
    store: Store, clock: FakeClock
) -> None:
    secrets, ann = MachineSecrets(store, clock), (await People.settle(store, clock)).ann
    found = await asyncio.gather(
        *(secrets.instance(ann.user_id, "i-1", "laptop") for _ in range(5))
    )
    assert len({one.machine_id for one in found}) == 1


async def test_how_many_agents_a_users_secret_makes_is_bounded(
    store: Store, clock: FakeClock
) -> None:
    secrets = MachineSecrets(store, clock, devices_max=2)
    ann = (await People.settle(store, clock)).ann
    for instance in ("i-1", "i-2"):
        await secrets.instance(ann.user_id, instance, "laptop")
    with pytest.raises(LimitReached):
        await secrets.instance(ann.user_id, "i-3", "laptop")
    await secrets.instance(ann.user_id, "i-1", "laptop")  # it is there already


async def test_an_agent_that_was_given_up_does_not_come_back_by_its_owners_secret(
    store: Store, clock: FakeClock
) -> None:
    secrets, ann = MachineSecrets(store, clock), (await People.settle(store, clock)).ann
    known = await secrets.instance(ann.user_id, "i-1", "laptop")
    await _give_up(store, known.machine_id)
    with pytest.raises(Unauthorized):
        await secrets.instance(ann.user_id, "i-1", "laptop")


async def test_an_agents_own_secret_finds_it_and_a_devices_token_finds_no_agent(
    store: Store, clock: FakeClock
) -> None:
    secrets, ann = MachineSecrets(store, clock), (await People.settle(store, clock)).ann
    known, secret = await secrets.issue_agent(ann.user_id, "builder")
    _, token = await secrets.issue_device(ann.user_id, "phone", [])
    assert await secrets.by_agent_secret(secret) == known
    for wrong in (token, "ya_wrong", "", known.machine_id):
        assert await secrets.by_agent_secret(wrong) is None
    with pytest.raises(Unauthorized):
        await secrets.by_token(secret)
