"""The page as it opens: who gets in, its language and theme, its size, its keys."""

import asyncio
import json
import re

from playwright.async_api import Route, expect

from tests.browser.harness import GROUND, MARKS, PHONE, Visits, axe, darken
from tests.support.eventually import eventually
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


_SIZE = """src => new Promise((resolve, reject) => {
  const picture = new Image();
  picture.onload = () => resolve(`${picture.naturalWidth}x${picture.naturalHeight}`);
  picture.onerror = () => reject(new Error(`${src} is no picture`));
  picture.src = src;
})"""


async def test_the_page_can_be_installed_and_its_icons_are_there(visits: Visits) -> None:
    page = await visits.user("/settings")
    await expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
    browser = await page.context.new_cdp_session(page)
    read = await browser.send("Page.getAppManifest")
    assert (read["url"].endswith("/manifest.webmanifest"), read["errors"]) == (True, [])
    hindered = await browser.send("Page.getInstallabilityErrors")
    assert hindered["installabilityErrors"] == []
    manifest = json.loads(read["data"])
    assert (manifest["name"], manifest["display"]) == ("Trunkline", "standalone")
    icons = [*manifest["icons"], *(one for cut in manifest["shortcuts"] for one in cut["icons"])]
    assert {one["sizes"] for one in icons} == {"any", "192x192", "512x512"}
    for icon in icons:
        size = await page.evaluate(_SIZE, icon["src"])
        assert icon["sizes"] in ("any", size)
    apple = await page.locator("link[rel=apple-touch-icon]").get_attribute("href")
    assert await page.evaluate(_SIZE, apple) == "180x180"
    for shortcut in manifest["shortcuts"]:
        await page.goto(shortcut["url"])
        await expect(page.get_by_role("heading", name=shortcut["name"]).first).to_be_visible()


_MOVING = """() => document.getAnimations().filter(one => one.playState === "running").length"""


async def test_who_wants_less_motion_gets_none(visits: Visits) -> None:
    page = await visits.user(None, reduced_motion="no-preference")
    is_over = asyncio.Event()

    async def hold(route: Route) -> None:
        await is_over.wait()
        await route.continue_()

    async def moving() -> int:
        return int(await page.evaluate(_MOVING))

    await page.route("**/api/v1/memories?*", hold)
    await page.goto("/memories")
    spinner = page.get_by_role("status", name="Loading")
    await expect(spinner).to_be_visible()
    assert await moving() == 1
    await page.emulate_media(reduced_motion="reduce")
    await eventually(moving, lambda count: count == 0)
    await expect(spinner).to_be_visible()
    is_over.set()
    await expect(spinner).to_have_count(0)
