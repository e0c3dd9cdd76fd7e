"""For the tests of a module: a control plane, a daemon and a scripted model as they run, and one
Chromium. For each test: `page`, somebody logged in, and `visits` for more of them.

Each test fails by itself when a page had an error in its console, broke its policy or had a request
refused that the test did not announce with `visits.watch.expect(…)`.
"""

from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from tests.browser.harness import Visits, launch, picture
from tests.support.control import ControlProcess
from tests.support.model_server import ModelServer
from tests.support.node import World
from tests.support.runtimes.installed import ROOT

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """Of the control plane; a module may have its own."""
    private = {"mcp_allowed_hosts": "127.0.0.1", "push_allowed_hosts": "127.0.0.1"}
    return {"rate_limit_per_minute": 0, **private}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    if not (ROOT / "web" / "dist" / "index.html").is_file():
        pytest.fail("the page is not built: make web")
    async with async_playwright() as playwright:
        started = await launch(playwright)
        yield started
        await started.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any]
) -> AsyncIterator[ControlProcess]:
    """A process of its own: `await control.kill()`, `await control.start()`."""
    async with ControlProcess(tmp_path_factory.mktemp("control") / "data", **settings) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(browser: Browser) -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    control: ControlProcess, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """An administrator with keys of the scripted model and a machine."""
    world = World(control, model, tmp_path_factory.mktemp("node") / "home")
    await world.open(role="admin")
    yield world
    await world.close()


@pytest_asyncio.fixture(loop_scope="module")
async def visits(
    browser: Browser, world: World, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Visits]:
    made = Visits(browser, world.control, world.user)
    yield made
    if request.node.stash.get(_FAILED, False):
        for number, page in enumerate(made.pages):
            await picture(page, tmp_path / f"page-{number}.png")
            print(f"{page.url} looked like {tmp_path}/page-{number}.png")
    await made.close()
    assert made.watch.problems == []


@pytest_asyncio.fixture(loop_scope="module")
async def page(visits: Visits) -> Page:
    """Of `world.user`, logged in; it is nowhere yet."""
    return await visits.user(None)
