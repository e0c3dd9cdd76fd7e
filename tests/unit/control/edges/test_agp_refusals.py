"""Names that a device is not to name: what is looked up, and what cannot be anybody's."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import event

from tests.support import fresh_data
from trunkline.control.core import Core
from trunkline.control.edges.agp.refusals import AgpRefusals
from trunkline.control.settings import Settings


@pytest_asyncio.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    fresh_data.copy_to(tmp_path / "data")
    core = await Core.open(Settings(data=str(tmp_path / "data")), "an-admin-token")
    yield core
    await core.close()


async def _asked(core: Core, name: str) -> list[str]:
    """What the database is asked because of that name."""
    who = await core.auth.load_first_user()
    known, _ = await core.machine_secrets.issue_device(who.user_id, "phone", [])
    machine = await core.machines.get(known.machine_id)
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        statements.append(statement)

    async with core.store.read() as connection:
        engine = connection.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    AgpRefusals(core).foreign(machine, "session", name)
    await core.tasks.done()
    event.remove(engine, "before_cursor_execute", note)
    return statements


async def test_a_name_that_may_be_somebody_s_is_looked_up(core: Core) -> None:
    assert any("sessions" in one for one in await _asked(core, "no-such-session"))
    assert core.metrics.malformed == 1


@pytest.mark.parametrize(
    "name",
    ["", "x" * 129, "x" * 10_000_000, "a\x00b", "a\nb", "\u202e", "\U0001f600"],
    ids=["empty", "long", "very long", "nul", "line end", "reversed", "emoji"],
)
async def test_a_name_that_can_be_nobody_s_is_counted_and_asked_of_no_database(
    core: Core, name: str
) -> None:
    """PostgreSQL takes no NUL in a text, and nobody wants ten megabytes in a query."""
    assert await _asked(core, name) == []
    assert core.metrics.malformed == 1
