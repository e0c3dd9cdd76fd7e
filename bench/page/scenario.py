"""The scenario `page`: sessions that stream into a page that shows one of them.

Everything is real: a control plane that commits each event, a machine's line, the page as it is
built, Chromium. Only the machine's words are made here, at a steady pace.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import Error as BrowserError
from playwright.async_api import async_playwright
from tests.browser.harness import Visits, launch
from tests.support.control import ControlProcess, TestUser
from tests.support.runtimes import installed
from tests.support.vm import ScriptedVm

from bench import budgets
from bench.page.text import pieces
from bench.page.watched import Watched
from bench.results import Metric, Results

_TICK_S = 0.05
_SETTLED_S_MAX = 30.0


def page(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    if not (installed.ROOT / "web" / "dist" / "index.html").is_file():
        return ["page: it is not built: make web"]
    try:
        asyncio.run(_measure(results))
    except (OSError, BrowserError, TimeoutError, AssertionError) as error:
        return [f"page: {error}"]
    return []


async def _measure(results: Results) -> None:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        data = Path(folder) / "data"
        control = await stack.enter_async_context(ControlProcess(data, rate_limit_per_minute=0))
        user = await control.user("ada")
        vm = await stack.enter_async_context(await user.vm())
        browser = await launch(await stack.enter_async_context(async_playwright()))
        stack.push_async_callback(browser.close)
        visits = Visits(browser, control, user)
        stack.push_async_callback(visits.close)
        watched = await Watched.of(await visits.user())
        await _streams(results, watched, user, vm, 1)
        await _streams(results, watched, user, vm, budgets.PAGE_SESSIONS)
        await _opening(results, watched, user, vm)
        if visits.watch.problems:
            raise AssertionError(visits.watch.problems[:3])


class _Speaker:
    """One session with a turn that goes on and on."""

    def __init__(self, vm: ScriptedVm, session_id: str, turn_id: str) -> None:
        self.session_id = session_id
        self._vm = vm
        self._turn_id = turn_id
        self._pieces: Iterator[str] = pieces()

    @classmethod
    async def begin(cls, user: TestUser, vm: ScriptedVm) -> "_Speaker":
        session_id = await user.session()
        return cls(vm, session_id, await user.say(session_id, "Explain the parser, step by step."))

    async def say(self, count: int) -> None:
        for _ in range(count):
            piece = next(self._pieces)
            await self._vm.event(
                self.session_id, type="text_chunk", content=piece, turn_id=self._turn_id
            )

    async def end(self) -> None:
        await self._vm.event(
            self.session_id, type="execution_complete", content="", turn_id=self._turn_id
        )


async def _streams(
    results: Results, watched: Watched, user: TestUser, vm: ScriptedVm, sessions: int
) -> None:
    """The sessions say their pieces at once; the last one is looked at."""
    speakers = [await _Speaker.begin(user, vm) for _ in range(sessions)]
    await watched.open(speakers[0].session_id)
    for speaker in speakers[1:]:
        await watched.switch(speaker.session_id)
    await _speak(speakers, budgets.PAGE_WARM_S)
    before_mib = await watched.heap_mib()
    await watched.forget_tasks()
    await _speak(speakers, budgets.PAGE_LOAD_S)
    longest_ms = await watched.longest_task_ms()
    for speaker in speakers:
        await speaker.end()

    await watched.page.wait_for_selector("[data-row=end]", timeout=_SETTLED_S_MAX * 1000)
    side = f"{sessions} session" + ("s" if sessions > 1 else "")
    results.add(Metric.PAGE_TASK, side, longest_ms)
    grown_mib = await watched.heap_mib() - before_mib
    results.add(Metric.PAGE_HEAP, side, grown_mib / sessions)
    results.add(Metric.PAGE_NODES, side, await watched.nodes())


async def _speak(speakers: list[_Speaker], seconds: float) -> None:
    start = time.monotonic()
    said = 0
    while (passed := time.monotonic() - start) < seconds:
        due = int(passed * budgets.PAGE_EVENTS_PER_S)
        for speaker in speakers:
            await speaker.say(due - said)
        said = due
        await asyncio.sleep(_TICK_S)


async def _opening(results: Results, watched: Watched, user: TestUser, vm: ScriptedVm) -> None:
    """A session of many events, turn after turn, is opened and read through."""
    speaker = await _Speaker.begin(user, vm)
    turns = budgets.PAGE_OPENED_TURNS
    for turn in range(turns):
        await speaker.say(budgets.PAGE_OPENED_EVENTS // turns)
        await speaker.end()
        if turn < turns - 1:
            turn_id = await user.say(speaker.session_id, "Go on.")
            speaker = _Speaker(vm, speaker.session_id, turn_id)
    await user.until_turns(speaker.session_id, *["completed"] * turns)
    results.add(Metric.PAGE_OPEN, "trunkline", await watched.open(speaker.session_id))
    await watched.forget_tasks()
    await watched.scroll_up(budgets.PAGE_SCROLL_STEPS)
    results.add(Metric.PAGE_SCROLL, "trunkline", await watched.longest_task_ms())
