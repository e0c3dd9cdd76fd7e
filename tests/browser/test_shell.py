"""The page as it opens: who gets in, its language and theme, its size, its keys."""

import asyncio
import re

from playwright.async_api import Route, expect

from tests.browser.harness import GROUND, MARKS, PHONE, Visits, axe, darken
from tests.support.model_server import ToolUse, Turn
from tests.support.node import World

pytestmark = MARKS

FIRST_LOAD_BYTES_MAX = 220_000

_LOADED = """() => performance.getEntries()
  .filter(one => "encodedBodySize" in one && !new URL(one.name).pathname.startsWith("/api/"))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""


async def test_the_login_link_leads_to_the_page(visits: Visits) -> None:
    page = await visits.user()
    await expect(page.get_by_role("link", name="Machines")).to_be_visible()
    await expect(page.get_by_role("heading").first).to_be_visible()
    await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    assert 100_000 < await page.evaluate(_LOADED) <= FIRST_LOAD_BYTES_MAX


async def test_a_link_to_a_chat_loads_what_shows_it_and_no_more(
    visits: Visits, world: World
) -> None:
    listing = ToolUse(name="bash", arguments={"command": "ls"})
    world.model.script(Turn(tool_calls=[listing]), Turn(text="| a | b |\n| --- | --- |\n| 1 | 2 |"))
    async with await world.session(title="Linked", agent={"confirm": "never"}) as talk:
        await talk.ask("What is there?")
    page = await visits.user(f"/chat/{talk.id}")
    await expect(page.get_by_role("cell", name="2")).to_be_visible()
    await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    assert 100_000 < await page.evaluate(_LOADED) <= FIRST_LOAD_BYTES_MAX
    # What was left is there when it is asked for, by mouse and by keyboard.
    menu = page.get_by_role("main").get_by_role("button", name="Actions for Linked").last
    await menu.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="Rename")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("menuitem")).to_have_count(0)
    await expect(menu).to_be_focused()
    await menu.click()
    await page.get_by_role("menuitem", name="How much is kept…").click()
    await expect(page.get_by_role("dialog", name="How much is kept")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_who_goes_elsewhere_while_the_first_page_loads_gets_there(visits: Visits) -> None:
    page = await visits.user(None)
    asked, chosen = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        await chosen.wait()
        await route.continue_()

    async def hold_inbox(route: Route) -> None:
        asked.set()
        await page.wait_for_event("requestfinished", lambda one: "/sessions?limit=1" in one.url)
        await route.continue_()

    await page.route("**/api/v1/sessions?limit=1", hold)
    await page.route("**/assets/inbox-*.js", hold_inbox)
    await page.goto("/")
    await page.get_by_role("link", name="Inbox").click()
    await asked.wait()
    chosen.set()
    await expect(page.get_by_role("heading", name="Inbox", exact=True)).to_be_visible()
    await expect(page).to_have_url(re.compile("/inbox$"))


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
