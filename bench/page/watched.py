"""A page of the chat in Chromium, and what is measured of it."""

from typing import Any

from playwright.async_api import CDPSession, Page

MIB = 1 << 20
_COUNT_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
}).observe({type: "longtask", buffered: true});
"""


class Watched:
    """One tab. Its long tasks are counted from the first navigation on."""

    def __init__(self, page: Page, tools: CDPSession) -> None:
        self.page = page
        self._tools = tools

    @classmethod
    async def of(cls, page: Page) -> "Watched":
        await page.add_init_script(_COUNT_LONG_TASKS)
        return cls(page, await page.context.new_cdp_session(page))

    async def open(self, session_id: str) -> float:
        """Shows a session; how many ms until its last row is there."""
        await self.page.goto("about:blank")
        await self.page.goto(f"/chat/{session_id}", wait_until="commit")
        await self.page.wait_for_selector("[data-row]")
        return float(await self.page.evaluate("() => performance.now()"))

    async def switch(self, session_id: str) -> None:
        """To another session, within the page."""
        await self.page.evaluate(
            """path => {
              history.pushState({}, '', path);
              dispatchEvent(new PopStateEvent('popstate'));
            }""",
            f"/chat/{session_id}",
        )
        await self.page.wait_for_selector("[data-row]")

    async def forget_tasks(self) -> None:
        await self.page.evaluate("() => { window.longTasks.length = 0; }")

    async def longest_task_ms(self) -> float:
        """0 where none took 50 ms."""
        tasks: list[float] = await self.page.evaluate("() => window.longTasks")
        return max(tasks, default=0.0)

    async def heap_mib(self) -> float:
        """What is in use, without what could be thrown away."""
        await self._tools.send("HeapProfiler.collectGarbage")
        used: dict[str, Any] = await self._tools.send("Runtime.getHeapUsage")
        return float(used["usedSize"]) / MIB

    async def nodes(self) -> int:
        return int(await self.page.evaluate("() => document.querySelectorAll('*').length"))

    async def scroll_up(self, steps: int) -> None:
        """Through what was said, a screen at a time, as fast as frames come."""
        await self.page.get_by_role("log").evaluate(
            """async (log, steps) => {
              for (let step = 0; step < steps; step += 1) {
                log.scrollTop -= log.clientHeight * 0.8;
                await new Promise(requestAnimationFrame);
              }
            }""",
            steps,
        )
