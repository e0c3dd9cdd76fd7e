"""Migrations run once, bring every branch to its head, and agree with the tables in the code."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text, update
from sqlalchemy.exc import IntegrityError

from tests.unit.control.services.conftest import add_org, add_session, add_user
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Head, Logged, NoteRow, Segment, Stored
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


_LOG_OF_THE_SECOND_VERSION = """
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
INSERT INTO alembic_version VALUES ('{version}');
CREATE TABLE segments (session_id VARCHAR(36) NOT NULL, last_id BIGINT NOT NULL,
  first_id BIGINT NOT NULL, at BIGINT NOT NULL, machine_seq BIGINT, body BLOB NOT NULL,
  PRIMARY KEY (session_id, last_id)) WITHOUT ROWID;
INSERT INTO segments VALUES ('s', 2, 1, 10, 4, x'610a62'), ('s', 3, 3, 11, 5, x'63'),
  ('counted', 0, 1, 12, 9, x''), ('cut', 9, 8, 13, NULL, x'680a69');
CREATE TABLE notes (session_id VARCHAR(36) NOT NULL, number BIGINT NOT NULL,
  after_id BIGINT NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (session_id, number)) WITHOUT ROWID;
INSERT INTO notes VALUES ('s', 1, 2, 10, 'n1'), ('s', 2, 3, 11, 'n2'), ('noted', 1, 0, 12, 'm');
"""


async def test_a_log_of_an_earlier_version_is_read_by_position_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_LOG_OF_THE_SECOND_VERSION.format(version="log_0002"))
    store = await SqliteSegments.open(path)
    assert await store.heads(["s", "counted", "cut", "noted", "nobody"]) == {
        "s": Head(3, 5, 2, 1, 8),
        "counted": Head(0, 9),
        "cut": Head(9, None, 0, 8, 3),
        "noted": Head(0, None, 1, 1, 1),
    }
    assert await store.front("s", 1) == [Stored(1, 2, 10, 5)]  # with a note
    assert await store.front("counted", 1) == []
    for session_id in ("s", "counted", "cut", "noted"):
        last_id, _, note, *_ = (await store.heads([session_id]))[session_id]
        notes = [NoteRow(note + 1, last_id + 1, "later")]
        await store.append([Segment(session_id, last_id + 1, ["z"], "z", 20, 6, notes)])
    wanted = [
        Logged(1, 0, 10, "a"),
        Logged(2, 0, 10, "b"),
        Logged(2, 1, 10, "n1"),
        Logged(3, 0, 11, "c"),
        Logged(3, 2, 11, "n2"),
        Logged(4, 0, 20, "z"),
        Logged(4, 3, 20, "later"),
    ]
    for _ in range(2):
        assert await store.entries("s", 0, 0) == wanted
        assert await store.entries("s", 2, 1) == wanted[3:]
        assert await store.read("s", 1, 10) == [(2, "b"), (3, "c"), (4, "z")]
        assert await store.read("cut", 0, 10) == [(8, "h"), (9, "i"), (10, "z")]
        assert await store.read("counted", 0, 10) == [(1, "z")]
        await store.fold(all=True)
    assert {one: head[:4] for one, head in (await store.heads(["s", "counted"])).items()} == {
        "s": (4, 6, 3, 1),
        "counted": (1, 6, 1, 1),
    }
    await store.close()


async def test_a_log_of_the_first_version_gets_its_notes_and_keeps_its_events(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_LOG_OF_THE_SECOND_VERSION.format(version="log_0001"))
        connection.execute("DROP TABLE notes")
    store = await SqliteSegments.open(path)
    assert await store.heads(["s"]) == {"s": Head(3, 5, bytes=4)}
    await store.append([Segment("s", 4, [], "", 12, None, [NoteRow(1, 3, "n")])])
    assert (await store.entries("s", 2, 0))[-2:] == [Logged(3, 0, 11, "c"), Logged(3, 1, 12, "n")]
    await store.close()
