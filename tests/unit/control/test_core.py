"""The end of a control plane: its work ends first, then what it works with is closed."""

from pathlib import Path

import psutil
import pytest

from trunkline.control.core import Core
from trunkline.control.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"))


def _open_databases(settings: Settings) -> list[str]:
    files = psutil.Process().open_files()
    return [file.path for file in files if file.path.startswith(str(settings.data_dir))]


async def test_the_work_has_ended_when_what_its_events_start_has(settings: Settings) -> None:
    core = await Core.open(settings, "an-admin-token")
    log = await core.log.open("session")
    recorded: list[str] = []

    async def record() -> None:
        await core.store.ping()
        recorded.append("last words")

    def committed(_at: int) -> None:
        core.tasks.spawn(record(), "record")

    async def work() -> None:
        core.log.append(log, '{"type":"text"}')
        core.log.after_commit(log, committed)

    core.tasks.spawn(work(), "work")
    await core.settle(60)
    assert recorded == ["last words"]
    await core.close()
    assert _open_databases(settings) == []


async def test_a_log_that_cannot_be_opened_leaves_nothing_open(settings: Settings) -> None:
    (settings.data_dir / "log.db").mkdir(parents=True)
    with pytest.raises(Exception, match="Is a directory"):
        await Core.open(settings, "an-admin-token")
    assert _open_databases(settings) == []
