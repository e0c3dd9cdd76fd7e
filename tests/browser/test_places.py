"""Every address of the page opens without an error, within its policy, and for people who
cannot see it; also on a phone, where nothing is cut off."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.harness import MARKS, Visits, axe, darken
from tests.browser.places import ADDRESSES, furnish
from tests.support.node import World
from tests.support.runtimes.installed import ROOT

pytestmark = MARKS
NARROW = 360


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
    wide = await page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= NARROW


async def test_a_member_is_offered_nothing_that_is_refused(visits: Visits, world: World) -> None:
    """A request that the server refuses fails the test."""
    member = await world.control.user("member")
    page = await visits.user("/welcome", as_user=member)
    offered = page.get_by_role("navigation", name="Main").get_by_role("link")
    await expect(offered.first).to_be_visible()
    for place in [await link.get_attribute("href") for link in await offered.all()]:
        assert place is not None
        await opened(page, place)
