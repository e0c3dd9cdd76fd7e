"""The pictures of the page in README.md and docs/: `make screenshots` renders them anew.

python -m tests.browser.screenshots [FOLDER]
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from playwright.async_api import Page, async_playwright, expect

from tests.browser import story
from tests.browser.harness import PHONE, Visits, launch
from tests.support.clock import FakeClock
from tests.support.control import running
from tests.support.model_server import ModelServer
from tests.support.node import World
from tests.support.runtimes.installed import ROOT
from trunkline.control import logging
from trunkline.control.clock import now_ms

FOLDER = ROOT / "docs" / "images"
_DAY_S = 24 * 3600
_DAYS = 10
_WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1.5}


class Shot(NamedTuple):
    """`shows`: a text that is there when the picture can be taken."""

    name: str
    address: str
    shows: str
    size: dict[str, Any] = _WIDE


SHOTS = (
    Shot("chat", "/chat/{session}", "I have not committed anything"),
    Shot("inbox", "/inbox", "git push origin"),
    Shot("machines", "/machines", "workshop"),
    Shot("usage", "/usage", "gpt-5.4-mini"),
    Shot("debug", "/debug/{session}", "execution_complete"),
    Shot("phone", "/chat/{session}", "I have not committed anything", PHONE),
)


@asynccontextmanager
async def _furnished(folder: Path) -> AsyncIterator[tuple[World, str]]:
    clock = FakeClock(now_ms() - _DAYS * _DAY_S * 1000)

    async def next_day() -> None:
        clock.advance(_DAY_S)

    model = ModelServer()
    async with running(folder / "data", clock, rate_limit_per_minute=0) as control, model:
        world = World(control, model, folder / "home")
        await world.open(role="admin")
        try:
            yield world, await story.tell(world, model, next_day)
        finally:
            await world.close()


async def _shoot(page: Page, shot: Shot, path: Path) -> None:
    await expect(
        page.locator("#content").get_by_text(shot.shows).locator("visible=true").first
    ).to_be_visible()
    if await page.locator("figure pre").count():
        await expect(page.locator("figure pre span").first).to_be_attached()  # code has its colours
    await page.screenshot(path=path, animations="disabled", caret="hide")
    with Image.open(path) as taken:
        # A palette in which also the few dots of a rare colour keep it.
        few = taken.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        few.save(path, optimize=True)


async def main(target: Path) -> None:
    logging.configure(json_logs=False, level="error")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with _furnished(Path(folder)) as (world, session), async_playwright() as playwright:
            browser = await launch(playwright)
            visits = Visits(browser, world.control, world.user)
            for shot in SHOTS:
                for scheme in ("light", "dark"):
                    address = shot.address.format(session=session)
                    page = await visits.user(address, color_scheme=scheme, **shot.size)
                    await _shoot(page, shot, target / f"{shot.name}-{scheme}.png")
            await visits.close()
            await browser.close()
            assert visits.watch.problems == []


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
