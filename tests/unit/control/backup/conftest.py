"""A system as its first start leaves it, and its backup."""

from pathlib import Path

import pytest

from tests.support import fresh_data
from tests.unit.control.postgres import in_own_loop
from trunkline.control.backup import making
from trunkline.control.core import Core
from trunkline.control.settings import Settings

MADE_AT = 1_790_000_000_000


class Silent:
    def tell(self, what: str) -> None: ...

    def at(self, done: int, total: int = 0) -> None: ...


@pytest.fixture
def silent() -> Silent:
    return Silent()


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Nobody changes it."""
    data = tmp_path_factory.mktemp("system") / "data"
    fresh_data.copy_to(data)
    settings = Settings(data=str(data))

    async def started() -> None:
        core = await Core.open(settings, "the-token-of-nobody")
        await core.auth.load_first_user()
        await core.services.audit.start()
        await core.close()

    in_own_loop(started())
    return settings


@pytest.fixture(scope="package")
def saved(system: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its backup, which nobody changes."""
    path = tmp_path_factory.mktemp("saved") / "saved.tar"
    making.make(system, path, now_ms=MADE_AT, progress=Silent())
    return path
