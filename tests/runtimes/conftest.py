"""One stage for each module of the shared suite: of the runtime that it names, `RUNTIME`."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.runtimes.marks import reason_against
from tests.runtimes.stage import Stage, open_stage
from tests.support.runtimes.driver import RuntimeDriver
from tests.support.runtimes.installed import need

for suite in ("talking", "working", "ending", "lasting"):
    pytest.register_assert_rewrite(f"tests.runtimes.{suite}")


def runtime_of(module: object) -> RuntimeDriver:
    found: RuntimeDriver = vars(module)["RUNTIME"]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "victim" in metafunc.fixturenames:
        metafunc.parametrize("victim", runtime_of(metafunc.module).victims)


@pytest.fixture(scope="module")
def runtime(request: pytest.FixtureRequest) -> RuntimeDriver:
    return runtime_of(request.module)


@pytest.fixture(autouse=True)
def can(request: pytest.FixtureRequest) -> None:
    """What a runtime cannot do is in the page's table, with the reason."""
    if (found := getattr(request.module, "RUNTIME", None)) is None:
        return
    if reason := reason_against(found.name, request.node):
        pytest.skip(f"{found.name}: {reason}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(
    runtime: RuntimeDriver, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    need(*runtime.programs)
    async with open_stage(runtime, tmp_path_factory.mktemp("stage")) as opened:
        yield opened
