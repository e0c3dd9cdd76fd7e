"""A running control plane for every end-to-end test, in the form that it needs.

`control`: one for all tests of a module, in their event loop; the module's tests have
`pytest.mark.asyncio(loop_scope="module")`.
`own_control`: one that is a test's alone, for what counts everything that ever happened on it.
`process`: one that is a test's alone, in a process of its own that can be killed.

A module that needs other settings, another clock or shorter waits has its own fixture `settings`,
`clock`, `now` or `tuning`; a single test calls `running` itself.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control, ControlProcess, LocalControl, TestUser, running
from tests.support.orgs import admin_of_new_org
from tests.support.raw_ws import RawWs, raw_line
from tests.support.vm import ScriptedVm
from trunkline.control.clock import Clock, Seconds, now_ms
from trunkline.control.tuning import DEFAULT, Tuning


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of `control`."""
    return tmp_path_factory.mktemp("control") / "data"


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """Of `control` and of `process`."""
    return {"rate_limit_per_minute": 0, "mcp_allowed_hosts": "127.0.0.1"}


@pytest.fixture(scope="module")
def clock() -> Clock:
    """Of `control`."""
    return now_ms


@pytest.fixture(scope="module")
def now() -> Seconds:
    """What `control` measures deadlines and silence with."""
    return time.monotonic


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    """Of `control`."""
    return DEFAULT


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(
    data: Path, settings: dict[str, Any], clock: Clock, tuning: Tuning, now: Seconds
) -> AsyncIterator[LocalControl]:
    async with running(data, clock, tuning, now, **settings) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def own_control(
    tmp_path: Path, settings: dict[str, Any], clock: Clock, tuning: Tuning, now: Seconds
) -> AsyncIterator[LocalControl]:
    async with running(tmp_path / "data", clock, tuning, now, **settings) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def process(tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[ControlProcess]:
    async with ControlProcess(tmp_path / "data", **settings) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    """The administrator of an organisation that is this test's alone."""
    return await admin_of_new_org(control)


@pytest_asyncio.fixture(loop_scope="module")
async def eve(control: Control) -> TestUser:
    """Somebody who has nothing to do with `user`."""
    return await control.user("eve")


@pytest_asyncio.fixture(loop_scope="module")
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await user.vm() as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser) -> AsyncIterator[str]:
    """One of a machine that is there, with a word in its log."""
    async with await user.vm() as vm:
        session_id = await user.session()
        await vm.text(session_id, "hello")
        yield session_id


@pytest_asyncio.fixture(loop_scope="module")
async def line(user: TestUser) -> AsyncIterator[RawWs]:
    """A VM on a raw socket."""
    async with await raw_line(user) as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def no_fault_in_the_loop() -> AsyncIterator[None]:
    """What a protocol raises ends in the loop's own handler, where nobody would see it."""
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: faults.append(context))
    yield
    loop.set_exception_handler(None)
    assert faults == []
