"""The page as it opens: who gets in, its language and theme, its size, its keys."""

import re

from playwright.async_api import expect

from tests.browser.harness import GROUND, MARKS, PHONE, Visits, axe, darken

pytestmark = MARKS

FIRST_LOAD_BYTES_MAX = (
    260_000  # with the first page's own chunk; the entry's budget is a test of Node
)


async def test_the_login_link_leads_to_the_page(visits: Visits) -> None:
    page = await visits.user()
    await expect(page.get_by_role("link", name="Machines")).to_be_visible()
    sent = await page.evaluate(
        """() => performance.getEntriesByType("resource")
             .filter(one => one.name.includes("/assets/"))
             .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
    )
    assert 0 < sent <= FIRST_LOAD_BYTES_MAX


async def test_a_stranger_is_told_how_to_get_in(visits: Visits) -> None:
    visits.watch.expect("401 GET /api/v1/me")
    page = await visits.stranger("/machines")
    await expect(page.get_by_role("heading", name="You are not logged in")).to_be_visible()
    assert await axe(page) == []


async def test_the_language_is_the_browsers_until_another_is_chosen(visits: Visits) -> None:
    page = await visits.user("/settings", locale="zh-CN")
    await expect(page.get_by_role("heading", name="设置", exact=True)).to_be_visible()
    assert await page.evaluate("() => document.documentElement.lang") == "zh"
    assert await axe(page) == []
    other = await page.context.new_page()
    await other.goto("/inbox")
    await expect(other.get_by_role("heading", name="待办", exact=True)).to_be_visible()
    await page.get_by_label("语言").select_option("en")
    await expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
    await expect(other.get_by_role("heading", name="Inbox", exact=True)).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


async def test_the_theme_is_the_systems_until_another_is_chosen(visits: Visits) -> None:
    page = await visits.user("/settings")
    light = await page.evaluate(GROUND)
    dark = await darken(page)
    await page.emulate_media(color_scheme="light")
    ground = page.locator("body")
    await expect(ground).to_have_css("background-color", light)
    await page.get_by_label("Theme").select_option("dark")
    await expect(ground).to_have_css("background-color", dark)
    await page.reload()
    await expect(ground).to_have_css("background-color", dark)
    await page.get_by_label("Theme").select_option("system")
    await expect(ground).to_have_css("background-color", light)


async def test_keys_and_the_palette_lead_everywhere(visits: Visits) -> None:
    page = await visits.user("/settings")
    await expect(page.get_by_role("link", name="Machines")).to_be_visible()
    await page.keyboard.type("gu")
    await expect(page).to_have_url(re.compile("/usage$"))
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Go to or do").fill("memor")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("/memories$"))
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert await axe(page) == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_phone_has_the_places_at_its_foot(visits: Visits) -> None:
    page = await visits.user("/machines", **PHONE)
    bar = page.get_by_role("navigation", name="Main")
    await bar.get_by_role("link", name="Inbox").tap()
    await expect(page).to_have_url(re.compile("/inbox$"))
    await bar.get_by_role("button", name="More").tap()
    await page.get_by_role("dialog").get_by_role("link", name="Usage").tap()
    await expect(page).to_have_url(re.compile("/usage$"))
    assert await axe(page) == []
