"""Every address of the page opens without an error, within its policy, and for people who
cannot see it; also on a phone, where nothing is cut off."""

import json
import re
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.harness import MARKS, Visits, axe, darken
from tests.browser.places import ADDRESSES, furnish
from tests.support.eventually import eventually
from tests.support.model_server import Turn
from tests.support.node import World
from tests.support.runtimes.installed import ROOT

pytestmark = MARKS
NARROW = 320  # a small phone; also a window of 1280 at 400 %

_STICKS_OUT = """() => [...document.querySelectorAll("#content *")]
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
  .filter(one => !one.closest("pre, [role=tablist], :has(> table)"))
  .map(one => one.outerHTML.slice(0, 200))"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ids(world: World) -> dict[str, str]:
    return await furnish(world)


async def opened(page: Page, address: str) -> None:
    await page.goto(address)
    await expect(page.locator("#content :is(h1, h2)").first).to_be_visible()
    await expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    await expect(page.get_by_text("This page failed")).to_have_count(0)


async def test_no_address_is_left_out() -> None:
    declared = re.findall(r'page\("(/[^"]+)"', (ROOT / "web/src/app/routes.tsx").read_text())
    known = {re.sub(r"\{\w+\}", "$", address) for address in ADDRESSES}
    assert {re.sub(r"\$\w+", "$", one) for one in declared} == known


@pytest.mark.parametrize("address", ADDRESSES)
async def test_it_opens_and_is_there_for_everybody(
    visits: Visits, ids: dict[str, str], address: str
) -> None:
    page = await visits.user(None)
    await opened(page, address.format(**ids))
    assert await axe(page) == []
    await darken(page)
    assert await axe(page, "color-contrast") == []
    await page.set_viewport_size({"width": NARROW, "height": 740})
    await eventually(lambda: page.evaluate(_STICKS_OUT), lambda found: found == [])
    assert await page.evaluate("() => document.documentElement.scrollWidth") <= NARROW


async def test_a_member_is_offered_nothing_that_is_refused(visits: Visits, world: World) -> None:
    """A request that the server refuses fails the test."""
    member = await world.control.user("member")
    page = await visits.user("/welcome", as_user=member)
    offered = page.get_by_role("navigation", name="Main").get_by_role("link")
    await expect(offered.first).to_be_visible()
    for place in [await link.get_attribute("href") for link in await offered.all()]:
        assert place is not None
        await opened(page, place)


async def test_a_chat_is_saved_from_its_menu_to_be_read_or_to_be_kept_whole(
    page: Page, world: World, tmp_path: Path
) -> None:
    world.model.script(Turn(text="Take it with you."))
    async with await world.session(title="Luggage") as talk:
        await talk.ask("What may I take?")
    await page.goto(f"/chat/{talk.id}")
    saved: dict[str, str] = {}
    for choice, name in (("Export as Markdown", "a.md"), ("Export as JSON Lines", "a.jsonl")):
        await page.get_by_role("button", name="Actions for this chat").click()
        async with page.expect_download() as download:
            await page.get_by_role("menuitem", name=choice).click()
        await (await download.value).save_as(tmp_path / name)
        saved[name] = (tmp_path / name).read_text()
    assert saved["a.md"].startswith("# Luggage\n\n## You\n\nWhat may I take?")
    events = [json.loads(line).get("event", {}) for line in saved["a.jsonl"].splitlines()]
    assert {"user_message", "execution_complete"} <= {one.get("type") for one in events}
