"""Two orgs with people in them, for every test of a service."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert

from tests.support.clock import FakeClock
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.ids import new_id
from trunkline.control.services import Services
from trunkline.control.services.methods import Caller
from trunkline.control.settings import Settings
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class World(msgspec.Struct, frozen=True):
    """Ann (member) and Olga (org admin) are of `org`; Bob is of `other_org`; Root sees all."""

    store: Store
    org: str
    other_org: str
    ann: Principal
    olga: Principal
    bob: Principal
    root: Principal
    agent: str
    session: str
    bobs_session: str

    @property
    def caller(self) -> Caller:
        return Caller(self.ann.user_id, self.org, "machine-1", self.session)


async def add_org(store: Store, name: str) -> str:
    row = {"id": new_id(), "name": name, "created_at": 1}
    return await _insert(store, schema.orgs, row)


async def add_user(store: Store, org_id: str, name: str, role: str = "member") -> Principal:
    row = {"id": new_id(), "org_id": org_id, "name": name, "role": role, "created_at": 1}
    return Principal(await _insert(store, schema.users, row), org_id, role)


async def add_agent(store: Store, owner: Principal, **fields: Any) -> str:
    row = {
        "id": new_id(),
        "org_id": owner.org_id,
        "user_id": owner.user_id,
        "name": "helper",
        "system_prompt": "Be kind.",
        "model": "gpt-4o",
        "confirm": "dangerous",
        "created_at": 1,
        **fields,
    }
    return await _insert(store, schema.agents, row)


def session_row(owner: Principal, agent_id: str | None = None) -> dict[str, Any]:
    return {
        "id": new_id(),
        "org_id": owner.org_id,
        "user_id": owner.user_id,
        "agent_id": agent_id,
        "runtime_type": "semigraph",
        "agent_config": {"temperature": 0.5},
        "session_config": {},
        "status": "active",
        "updated_at": 1,
        "created_at": 1,
    }


async def add_session(store: Store, owner: Principal, agent_id: str | None = None) -> str:
    return await _insert(store, schema.sessions, session_row(owner, agent_id))


async def _insert(store: Store, table: Any, row: dict[str, Any]) -> str:
    async with store.write() as connection:
        await connection.execute(insert(table).values(row))
    return str(row["id"])


@pytest.fixture
async def world(store: Store) -> World:
    org, other = await add_org(store, "Acme"), await add_org(store, "Other")
    ann = await add_user(store, org, "Ann")
    bob = await add_user(store, other, "Bob")
    agent = await add_agent(store, ann)
    return World(
        store=store,
        org=org,
        other_org=other,
        ann=ann,
        olga=await add_user(store, org, "Olga", "org_admin"),
        bob=bob,
        root=await add_user(store, other, "Root", "admin"),
        agent=agent,
        session=await add_session(store, ann, agent),
        bobs_session=await add_session(store, bob),
    )


@pytest.fixture
async def services(store: Store, keys: Keys, clock: FakeClock) -> AsyncIterator[Services]:
    """Every service, with loopback allowed for MCP."""
    built = Services(store, keys, Settings(mcp_allowed_hosts="127.0.0.1"), clock)
    yield built
    await built.close()


@pytest.fixture
async def sqlite_services(
    sqlite_store: Store, keys: Keys, clock: FakeClock
) -> AsyncIterator[Services]:
    """For what the database makes no difference to."""
    built = Services(sqlite_store, keys, Settings(), clock)
    yield built
    await built.close()
