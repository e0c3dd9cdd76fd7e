"""What the tests of sessions share."""

from typing import Any

import pytest
from sqlalchemy import insert

from tests.unit.control.services.conftest import add_org, add_session, add_user
from tests.unit.control.sessions.recorded import Records
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

Json = dict[str, Any]


@pytest.fixture
async def records(store: Store) -> Records:
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    session = await add_session(store, ann)
    async with store.write() as connection:
        for machine_id in ("m", "other"):
            row: Json = {
                "id": machine_id,
                "user_id": ann.user_id,
                "kind": "vm",
                "name": machine_id,
                "provider": "manual",
                "state": "online",
                "capabilities": [],
                "created_at": 1,
            }
            await connection.execute(insert(schema.machines).values(row))
    return Records(store, session)
