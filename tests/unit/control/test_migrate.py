"""Migrations run once, bring every branch to its head, and agree with the tables in the code."""

import re
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text, update
from sqlalchemy.exc import IntegrityError

from tests.unit.control.services.conftest import add_org, add_session, add_user
from trunkline.control.services.memory_search import by_words
from trunkline.control.services.memory_terms import asked
from trunkline.control.store import migrate, schema
from trunkline.control.store.columns import records
from trunkline.control.store.engine import Store, open_engine, sqlite_url


def test_the_heads_in_the_code_are_those_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert set(scripts.get_heads()) == set(migrate.HEADS.values())


# Those that are not of the tables in the code: made by statements of their own.
_PARTIAL = ("mcp_servers_org_name", "sessions_adopted")
_OWN_INDEXES = re.compile(rf"memories_fts|(ix_)?memory_vectors_|sqlite_vec|{'|'.join(_PARTIAL)}")


def _differences(connection: Connection) -> list[object]:
    """Between the database and the tables in the code."""
    context = MigrationContext.configure(
        connection,
        opts={
            "include_name": lambda name, kind, _: (
                kind not in ("table", "index") or not _OWN_INDEXES.match(str(name))
            )
        },
    )
    return list(compare_metadata(context, records))


async def test_a_migrated_database_has_exactly_the_tables_of_the_code(store: Store) -> None:
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []
        found = await connection.run_sync(
            lambda sync: {
                one["name"]: (one["column_names"], one["unique"])
                for table in ("mcp_servers", "sessions")
                for one in inspect(sync).get_indexes(table)
                if one["name"] in _PARTIAL
            }
        )
    assert found == {
        "mcp_servers_org_name": (["org_id", "name"], 1),
        "sessions_adopted": (["adopted"], 1),
    }


async def test_records_and_log_may_share_one_database(tmp_path: Path) -> None:
    engine = open_engine(sqlite_url(tmp_path / "both.db"))
    for _ in range(2):
        await migrate.upgrade(engine, "records")
        await migrate.upgrade(engine, "log")
    async with engine.connect() as connection:
        for branch in migrate.HEADS:
            assert migrate.HEADS[branch] in await connection.run_sync(migrate.versions)
    await engine.dispose()


async def test_a_database_of_the_first_version_gets_what_came_later(store: Store) -> None:
    async with store.write() as connection:
        for statement in (
            "DROP TABLE reports",
            "DROP TABLE myagent_runs",
            "DROP TABLE push_subscriptions",
            "DROP TABLE group_seats",
            "DROP TABLE group_members",
            "DROP TABLE persons",
            "DROP TABLE machine_secrets",
            "ALTER TABLE sessions DROP COLUMN remote",
            "ALTER TABLE agents DROP COLUMN agent_app",
            "ALTER TABLE sessions DROP COLUMN left_machines",
            "ALTER TABLE sessions DROP COLUMN state",
            "ALTER TABLE sessions DROP COLUMN folded_id",
            "ALTER TABLE sessions DROP COLUMN folded_note",
            "ALTER TABLE sessions DROP COLUMN unsettled",
            "ALTER TABLE sessions ADD COLUMN started_at BIGINT",
            "DROP TABLE user_secrets",
            "DROP INDEX machines_instance",
            "DROP INDEX snapshots_bytes",
            "DROP INDEX sessions_adopted",
            "ALTER TABLE sessions DROP COLUMN adopted",
            "ALTER TABLE agents DROP COLUMN workspace",
            "ALTER TABLE agents DROP COLUMN acp",
            "ALTER TABLE machines DROP COLUMN runtimes",
            "ALTER TABLE machines DROP COLUMN instance",
            "ALTER TABLE machines DROP COLUMN dialect",
            "ALTER TABLE machines DROP COLUMN tokens_from",
            "ALTER TABLE tokens DROP COLUMN scopes",
            "ALTER TABLE tokens DROP COLUMN last_used_at",
            "ALTER TABLE tokens DROP COLUMN login_until",
            "ALTER TABLE tokens DROP COLUMN ends_with",
            "ALTER TABLE sessions DROP COLUMN shown",
            "ALTER TABLE sessions DROP COLUMN created_by",
            "ALTER TABLE audit DROP COLUMN source",
            "ALTER TABLE mcp_servers DROP COLUMN enabled",
            "ALTER TABLE orgs ADD COLUMN auto_approve_evolutions BOOLEAN NOT NULL DEFAULT FALSE",
            "UPDATE alembic_version SET version_num = 'records_0001'"
            " WHERE version_num LIKE 'records%'",
        ):
            await connection.execute(text(statement))
    await migrate.upgrade(store.engine, "records")
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []
        assert migrate.HEADS["records"] in await connection.run_sync(migrate.versions)


async def test_one_open_session_goes_on_with_a_conversation_also_in_an_older_database(
    store: Store,
) -> None:
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    one, other, closed = [await add_session(store, ann) for _ in range(3)]
    async with store.write() as connection:
        for statement in (
            "DROP INDEX sessions_adopted",
            "ALTER TABLE sessions DROP COLUMN adopted",
            "UPDATE alembic_version SET version_num = 'records_0007'"
            " WHERE version_num LIKE 'records%'",
        ):
            await connection.execute(text(statement))
    await migrate.upgrade(store.engine, "records")

    async def adopt(session_id: str, **values: str) -> None:
        of_it = schema.sessions.c.id == session_id
        async with store.write() as connection:
            found = update(schema.sessions).where(of_it).values(adopted="m claude-code  x")
            await connection.execute(found.values(**values))

    await adopt(closed, status="closed")
    await adopt(one)
    with pytest.raises(IntegrityError):
        await adopt(other)


async def test_what_became_part_of_a_sessions_state_leaves_the_records(store: Store) -> None:
    """And the sessions stay: their states are made at the next start."""
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    session = await add_session(store, ann)
    async with store.write() as connection:
        for statement in (
            "ALTER TABLE sessions DROP COLUMN state",
            "ALTER TABLE sessions DROP COLUMN folded_id",
            "ALTER TABLE sessions DROP COLUMN folded_note",
            "ALTER TABLE sessions DROP COLUMN unsettled",
            "ALTER TABLE sessions ADD COLUMN started_at BIGINT",
            "ALTER TABLE turns ADD COLUMN owed BOOLEAN NOT NULL DEFAULT FALSE",
            "UPDATE alembic_version SET version_num = 'records_0004'"
            " WHERE version_num LIKE 'records%'",
        ):
            await connection.execute(text(statement))
    await migrate.upgrade(store.engine, "records")
    columns = "state", "folded_id", "folded_note", "unsettled"
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []
        query = select(*(schema.sessions.c[name] for name in ("id", *columns)))
        assert list(await connection.execute(query)) == [(session, None, 0, 0, False)]


async def test_lists_of_an_older_database_show_what_was_pinned_and_how_turns_ended(
    store: Store,
) -> None:
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    session = await add_session(store, ann)
    columns = "pinned", "archived", "last_activity_at", "last_turn_status", "last_turn_ended_at"
    turn = "INSERT INTO turns (id, session_id, state, message, metadata, created_at, finished_at)"
    async with store.write() as connection:
        for statement in (
            "DROP INDEX sessions_listed",
            "ALTER TABLE turns DROP COLUMN said_id",
            "ALTER TABLE turns DROP COLUMN ended_id",
            *(f"ALTER TABLE sessions DROP COLUMN {name}" for name in columns),
            """UPDATE sessions SET shown = '{"pinned"\\: true, "sort_rank"\\: 3}'""",
            f"{turn} VALUES ('1', '{session}', 'completed', 'a', '{{}}', 5, 10)",
            f"{turn} VALUES ('2', '{session}', 'failed', 'b', '{{}}', 11, 12)",
            f"{turn} VALUES ('3', '{session}', 'queued', 'c', '{{}}', 20, NULL)",
            "UPDATE alembic_version SET version_num = 'records_0013' WHERE version_num LIKE 'rec%'",
        ):
            await connection.execute(text(statement))
    await migrate.upgrade(store.engine, "records")
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []
        query = select(*(schema.sessions.c[name] for name in (*columns, "shown")))
        found = (await connection.execute(query)).one()
        assert tuple(found) == (True, False, 20, "failed", 12, {"sort_rank": 3})


async def test_memories_of_an_older_database_are_found_by_their_words(store: Store) -> None:
    org = await add_org(store, "Acme")
    old = [
        "DROP INDEX ix_memories_embedded_by",
        "ALTER TABLE memories DROP COLUMN terms",
        "ALTER TABLE memories DROP COLUMN embedded_by",
        "UPDATE alembic_version SET version_num = 'records_0008' WHERE version_num LIKE 'rec%'",
        "INSERT INTO memories (id, org_id, content, metadata, fts_rowid, created_at)"
        f" VALUES ('m', '{org}', '部署在上海的 Servers', '{{}}', 7, 1)",
    ]
    if store.is_sqlite:
        old[:0] = [
            "DROP TRIGGER memories_fts_insert",
            "DROP TRIGGER memories_fts_delete",
            "DROP TABLE memories_fts",
            "ALTER TABLE memories ADD COLUMN embedding BLOB",
        ]
    else:
        old[:0] = ["DROP INDEX memories_fts", "ALTER TABLE memories ADD COLUMN embedding BYTEA"]
    async with store.write() as connection:
        for statement in old:
            await connection.execute(text(statement))
    await migrate.upgrade(store.engine, "records")
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []
        for query in ("server", "上海"):
            found = await by_words(connection, org, None, asked(query))
            assert found == {"m": 1.0}
