"""Who may be a user's device, and how many there may be."""

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
