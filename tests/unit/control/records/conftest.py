"""Two orgs with people of every role, over the store that the test asks for."""

import pytest

from tests.support.clock import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.records import Records
from trunkline.control.store.engine import Store


@pytest.fixture
def auth(store: Store, keys: Keys, clock: FakeClock) -> Auth:
    return Auth(store, keys, None, clock)


@pytest.fixture
def records(store: Store, keys: Keys, auth: Auth, clock: FakeClock) -> Records:
    return Records(store, keys, auth, clock)


@pytest.fixture
async def people(store: Store, clock: FakeClock) -> People:
    return await People.settle(store, clock)
