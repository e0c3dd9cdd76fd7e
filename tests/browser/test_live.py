"""The line between page and server: one for all tabs, taken up where it broke, and a page that is
there without it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe, copied
from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import eventually
from tests.support.metrics import metric
from tests.support.vm import ScriptedVm

pytestmark = MARKS


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def user(control: ControlProcess) -> TestUser:
    return await control.user("ada", role="admin")


@pytest_asyncio.fixture(loop_scope="module")
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    """Says what a test lets it say."""
    async with await user.vm(name="desk") as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def visits(
    browser: Browser, control: ControlProcess, user: TestUser
) -> AsyncIterator[Visits]:
    made = Visits(browser, control, user)
    yield made
    await made.close()
    assert made.watch.problems == []


def event(page: Page, event_id: int) -> Locator:
    return page.get_by_role("article", name=f"{event_id} text_chunk", exact=True)


async def is_live(page: Page) -> None:
    await expect(page.get_by_text("Live", exact=True).first).to_be_visible()


async def test_tabs_share_one_stream_and_hand_it_over(
    control: ControlProcess, visits: Visits, user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await vm.text(session, "one")
    first = await visits.user(f"/debug/{session}")
    await expect(event(first, 1)).to_be_visible()
    tabs = [await first.context.new_page() for _ in range(6)]
    for tab in tabs:
        await tab.goto(f"/debug/{session}")
    await vm.text(session, "two")
    for tab in (first, *tabs):
        await expect(event(tab, 2)).to_be_visible()
    assert await metric(control, "sse_readers_active") == 1
    await first.close()
    await vm.text(session, "three")
    for tab in tabs:
        await expect(event(tab, 3)).to_be_visible()
    await eventually(lambda: metric(control, "sse_readers_active"), lambda count: count == 1)


async def test_a_restart_of_the_server_is_bridged_and_without_it_the_page_is_there(
    control: ControlProcess, visits: Visits, user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session(title="Kept for later")
    await vm.text(session, "the first words")
    visits.watch.expect("net::ERR|50[234] GET")
    page = await visits.user("/machines")
    await page.evaluate("() => navigator.serviceWorker.ready")
    await page.reload()  # from here on its worker keeps what it reads
    await expect(page.get_by_text("desk").first).to_be_visible()
    unused = page.get_by_text("Nothing was used in this time")
    await page.goto("/usage")
    await expect(unused).to_be_visible()
    await page.goto(f"/chat/{session}")
    said = page.get_by_role("log")
    await expect(said).to_contain_text("the first words")
    await control.kill()
    away = page.get_by_text("The server cannot be reached.").first
    await expect(away).to_be_visible()
    await page.reload()
    await expect(away).to_be_visible()
    await expect(said).to_contain_text("the first words")
    await expect(page.get_by_role("link", name="Kept for later").first).to_be_visible()
    await page.goto("/machines")
    await expect(page.get_by_text("desk").first).to_be_visible()
    await page.goto("/usage")
    await expect(unused).to_be_visible()
    await page.goto(f"/chat/{session}")
    await expect(said).to_contain_text("the first words")
    await control.start()
    await expect(away).to_have_count(0)
    async with user.again(vm) as again:
        await again.text(session, " and more")
        await expect(said).to_contain_text("and more")


_KEPT_EVENTS = """async () => {
  const cache = await caches.open("trunkline-data");
  const answers = (await cache.keys()).filter(one => one.url.includes("/events?"));
  return Promise.all(answers.map(async one => (await cache.match(one)).text()));
}"""


async def test_offline_a_chat_is_as_it_was_last_seen_and_not_as_it_was_opened(
    control: ControlProcess, visits: Visits, user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session(title="Watched live")
    visits.watch.expect("net::ERR|50[234] GET")
    page = await visits.user("/machines")
    await page.evaluate("() => navigator.serviceWorker.ready")
    await page.reload()  # from here on its worker keeps what it reads
    await page.goto(f"/chat/{session}")
    await is_live(page)
    said = page.get_by_role("log")
    stop = page.get_by_role("button", name="Stop", exact=True)

    async def kept() -> str:
        return "".join(await page.evaluate(_KEPT_EVENTS))

    await user.say(session, "First question")
    await expect(stop).to_be_visible()
    await vm.text(session, "The first answer.")
    await vm.event(session, type="execution_complete", final_response="The first answer.")
    await expect(stop).to_have_count(0)
    await eventually(kept, lambda text: "execution_complete" in text)
    await user.say(session, "Second question")
    await vm.text(session, "Half of the second")
    await expect(said).to_contain_text("Half of the second")
    await page.evaluate(
        """() => {
          Object.defineProperty(document, "visibilityState", {value: "hidden", configurable: true});
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    await eventually(kept, lambda text: "Half of the second" in text)
    await control.kill()
    await page.reload()
    await expect(page.get_by_text("The server cannot be reached.").first).to_be_visible()
    await expect(said).to_contain_text("The first answer.")
    await expect(said).to_contain_text("Half of the second")
    await expect(page.get_by_text("It was running when it was last heard of")).to_be_visible()
    await expect(stop).to_have_count(0)
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    await control.start()
    await expect(stop).to_be_visible()


async def test_what_was_read_is_forgotten_with_the_login(visits: Visits, user: TestUser) -> None:
    visits.watch.expect("401 GET")
    page = await visits.user("/machines")
    await page.evaluate("() => navigator.serviceWorker.ready")
    await page.reload()
    await is_live(page)
    kept = "() => caches.open('trunkline-data').then(one => one.keys()).then(all => all.length)"
    assert await page.evaluate(kept) > 0
    await page.context.clear_cookies()
    await page.reload()
    await expect(page.get_by_role("heading", name="You are not logged in")).to_be_visible()
    await eventually(lambda: page.evaluate(kept), lambda count: count == 0)


async def test_the_debug_view_shows_each_event_in_every_form(
    visits: Visits, user: TestUser, vm: ScriptedVm, tmp_path: Path
) -> None:
    session = await user.session(title="Looked at closely")
    await vm.text(session, "early")
    page = await visits.user(f"/debug/{session}")
    await expect(event(page, 1).get_by_text("not recorded")).to_be_visible()
    await is_live(page)
    await vm.text(session, "hello")
    await vm.event(session, type="thinking", content="hm")
    late = event(page, 2)
    await expect(late.get_by_text('"sse_event"')).to_be_visible()
    await expect(late.get_by_text("agent.partial_answer")).to_be_visible()
    await expect(late.get_by_text("claude_output")).to_be_visible()
    await expect(page.get_by_text("2 frames")).to_be_visible()
    assert await axe(page) == []
    frame = json.loads(await copied(page, late.get_by_role("button", name="Copy: Raw, event 2")))
    assert (frame["type"], frame["session_id"]) == ("sse_event", session)
    assert json.loads(frame["data"]) == {"type": "text_chunk", "content": "hello"}
    await page.get_by_label("Type").select_option("thinking")
    await expect(page.get_by_text("1 of 3 events")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download as JSON Lines").click()
    path = tmp_path / "events.jsonl"
    await (await download.value).save_as(path)
    [line] = path.read_text().splitlines()
    assert (json.loads(line)["id"], json.loads(line)["type"]) == (3, "thinking")
    await page.get_by_label("Type").select_option("")
    await page.get_by_label("Filter by text or id").fill("no such text")
    await expect(page.get_by_role("heading", name="No event fits")).to_be_visible()
    phone = await visits.user(f"/debug/{session}", **PHONE)
    await expect(event(phone, 2)).to_be_visible()
    assert await axe(phone) == []
