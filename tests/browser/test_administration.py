"""What those who run it do in the page: people, tokens, audit, usage, the organisation, health."""

import re
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.harness import MARKS, Visits, axe
from tests.support.clock import FakeClock
from tests.support.control import ControlProcess, TestUser, running
from tests.support.eventually import eventually
from tests.support.model_server import Turn
from tests.support.node import World
from trunkline.control.clock import now_ms

pytestmark = MARKS


async def test_a_user_is_added_let_in_and_removed(page: Page, visits: Visits) -> None:
    await page.goto("/users")
    await page.get_by_role("button", name="Add user").click()
    await page.get_by_label("Name").fill("Mei")
    await page.get_by_label("Role").select_option("org_admin")
    await page.get_by_role("dialog").get_by_role("button", name="Add user").click()
    dialog = page.get_by_role("dialog", name="Login link for Mei")
    link = await dialog.get_by_role("region", name="Login link").inner_text()
    assert await axe(page) == []
    hers = await visits.stranger(link)
    await expect(hers.get_by_text("Mei").first).to_be_visible()
    await dialog.get_by_role("button", name="Close").click()
    menu = page.get_by_role("button", name="Actions for Mei")
    assert abs(await middle(menu) - await middle(page.get_by_text("Mei", exact=True))) <= 2
    await menu.click()
    await page.get_by_role("menuitem", name="Edit").click()
    await page.get_by_label("Role").select_option("member")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("row", name=re.compile("Mei"))).to_contain_text("Member")
    await page.get_by_role("button", name="Actions for Mei").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("row", name=re.compile("Mei"))).to_have_count(0)
    visits.watch.expect("401 GET ")  # of her page, which has lost its login


async def middle(shown: Locator) -> float:
    """How far down it stands."""
    box = await shown.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


async def test_a_token_has_the_scopes_that_were_chosen_and_is_shown_once(
    page: Page, world: World
) -> None:
    await page.goto("/tokens")
    await page.get_by_role("button", name="Issue token").click()
    await page.get_by_role("textbox", name="Name").fill("a script")
    await page.get_by_label("What it may do").select_option("some")
    await page.get_by_role("dialog").get_by_role("button", name="Issue token").click()
    secret = await page.get_by_role("region", name="The token").inner_text()
    await page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile("a script"))
    await expect(row).to_contain_text("Read")
    assert secret not in await page.content()
    control = world.control
    assert (await control.call("GET", "/me", token=secret))[0] == 200
    assert (await control.call("POST", "/sessions", {}, token=secret))[0] == 403
    await row.get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(row).to_have_count(0)
    assert (await control.call("GET", "/me", token=secret))[0] == 401


async def test_the_audit_log_is_searched_and_verified(page: Page) -> None:
    await page.goto("/audit")
    await page.get_by_label("What", exact=True).fill("login")
    await expect(page.get_by_role("cell", name="login.done").first).to_be_visible()
    await expect(page.get_by_role("cell", name="user.made")).to_have_count(0)
    await page.get_by_label("Text").fill("nobody wrote this")
    await expect(page.get_by_text("No entry fits")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await expect(page.get_by_role("cell", name="user.made").first).to_be_visible()
    await page.get_by_role("button", name="Verify").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("The log is whole")).to_be_visible()
    await dialog.get_by_text("Compare with a head").click()
    await dialog.get_by_label("Its number").fill("1")
    await dialog.get_by_label("Its hash").fill("0" * 64)
    await dialog.get_by_role("button", name="Check", exact=True).click()
    await expect(dialog.get_by_text("broken at entry 1")).to_be_visible()
    assert await axe(page) == []


async def test_usage_and_health_follow_what_sessions_do(page: Page, world: World) -> None:
    await page.goto("/usage")
    await expect(page.get_by_text("Nothing was used in this time")).to_be_visible()
    world.model.script(Turn(text="Hello to you."))
    async with await world.session() as talk:
        await talk.ask("Hello.")

    async def used() -> list[str]:
        return [one["key"] for one in (await world.user.ok("GET", "/usage"))["items"]]

    await eventually(used, bool)
    await page.reload()
    [model] = await used()
    await page.get_by_label("Show").select_option("calls")
    await expect(page.get_by_role("row", name=re.compile(model)).first).to_contain_text("100%")
    # The scripted model answers at once.
    row = page.get_by_role("region", name="Model").get_by_role("row", name=model)
    await expect(row.get_by_role("cell").nth(5)).to_have_text(re.compile("^[1-9][0-9]*ms$"))
    chart = page.get_by_role("img", name=re.compile("Bars of Calls"))
    await expect(chart.locator("canvas")).to_be_visible()
    await page.get_by_label("By", exact=True).select_option("machine")
    machine = await world.user.ok("GET", f"/machines/{world.node.machine_id}")
    await expect(page.get_by_role("cell", name=machine["name"])).to_be_visible()
    await page.goto("/health")
    figures = page.get_by_label("Figures")
    await expect(figures).to_contain_text("Well")
    await expect(figures).to_contain_text("Machines online1")
    await expect(page.get_by_role("img", name=re.compile("events per second"))).to_be_visible()


_BARS = """canvas => {
  const {width, height} = canvas;
  const dots = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const tall = [...Array(width).keys()].filter(x =>
    [...Array(height).keys()].filter(y => dots[4 * (y * width + x) + 3] > 0).length > height / 4);
  return tall.filter((x, at) => x !== tall[at - 1] + 1).length;
}"""


async def spent(user: TestUser, machine: str, model: str, calls: int) -> None:
    async with await user.vm(name=machine) as vm:
        machines = (await user.ok("GET", "/machines"))["items"]
        [machine_id] = [one["id"] for one in machines if one["name"] == machine]
        session = await user.session(machine_id=machine_id)
        used = {"model": model, "tokens_in": 1000, "tokens_out": 10}
        for _ in range(calls):
            await vm.request(session, "usage_report", **used)


async def drawn(page: Page, by: str, most: str, least: str) -> Locator:
    """The chart of it, which shows two days, one with three calls and one with two."""
    await page.get_by_label("By", exact=True).select_option(by)
    rows = page.get_by_role("region", name=by).get_by_role("row")
    await expect(rows.filter(has_text=most).filter(has_text="60%")).to_have_count(1)
    await expect(rows.filter(has_text=least).filter(has_text="40%")).to_have_count(1)
    label = f"Bars of Calls for each of the last 30 days, by {by}"
    chart = page.get_by_role("img", name=label)
    await eventually(lambda: chart.locator("canvas").evaluate(_BARS), lambda bars: bars == 2)
    legend = page.locator("figure").filter(has=chart).locator("li")
    await expect(legend).to_have_text(["Total", f"{most}3", f"{least}2"])
    return chart


async def test_usage_is_drawn_by_day_and_by_what_is_asked_for(
    browser: Browser, tmp_path: Path
) -> None:
    clock = FakeClock(now_ms() - 86_400_000)
    async with running(tmp_path / "data", clock, rate_limit_per_minute=0) as control:
        ada, mei = await control.user("ada", role="admin"), await control.user("mei")
        await spent(ada, "desk", "gpt-5.4", 2)
        clock.advance(86_400)
        await spent(mei, "attic", "gpt-5.4-mini", 3)
        visits = Visits(browser, control, ada)
        page = await visits.user("/usage")
        await page.get_by_label("Show").select_option("calls")
        await drawn(page, "Model", "gpt-5.4-mini", "gpt-5.4")
        await drawn(page, "User", "mei", "ada")
        chart = await drawn(page, "Machine", "attic", "desk")
        box = await chart.locator(".u-over").bounding_box()
        assert box is not None
        legend = page.locator("figure").filter(has=chart).locator("li")
        await page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 9)
        await expect(legend.nth(1)).to_have_text("attic3")
        await expect(legend.nth(2)).to_have_text("desk0")
        await page.get_by_text("Each day as a table").click()
        days = page.get_by_role("region", name="Each day as a table").get_by_role("row")
        await expect(days).to_have_count(3)
        await expect(days.nth(2)).to_contain_text("2,000")
        await visits.close()
        assert visits.watch.problems == []


async def test_the_organisation_gets_another_name(page: Page) -> None:
    await page.goto("/org")
    await page.get_by_label("Name").fill("The Workshop")
    form = page.locator("form").filter(has=page.get_by_label("Name"))
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Name")).to_have_value("The Workshop")


async def test_the_organisation_keeps_its_sessions_for_so_many_days(page: Page) -> None:
    await page.goto("/org")
    days = page.get_by_label("Days that events are kept")
    await days.fill("90")
    form = page.locator("form").filter(has=days)
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await page.reload()
    await expect(days).to_have_value("90")


async def test_admins_see_on_every_page_that_the_disk_runs_low_and_others_do_not(
    browser: Browser, tmp_path: Path
) -> None:
    low = re.compile(r"^The server's disk runs low: [\d,.]+ (K|M|G|T)i?B free\. Make room")
    async with ControlProcess(tmp_path / "data", low_disk_bytes=2**60) as control:
        admin = await control.user("ada", role="admin")
        visits = Visits(browser, control, admin)
        page = await visits.user("/")
        for place in ("/", "/tokens", "/health"):
            await page.goto(place)
            await expect(page.get_by_role("status").filter(has_text=low)).to_be_visible()
        assert await axe(page) == []
        members = await visits.user("/tokens", as_user=await control.user("mei"))
        await expect(members.get_by_role("button", name="Issue token")).to_be_visible()
        await expect(members.get_by_text("disk runs low")).to_have_count(0)
        await visits.close()
        assert visits.watch.problems == []


async def test_nobody_is_told_of_a_disk_with_room(browser: Browser, tmp_path: Path) -> None:
    async with ControlProcess(tmp_path / "data", low_disk_bytes=0) as control:
        visits = Visits(browser, control, await control.user("ada", role="admin"))
        page = await visits.user(None)
        async with page.expect_response("**/api/v1/health") as looked:
            await page.goto("/tokens")
        assert (await (await looked.value).json())["disk"]["is_low"] is False
        await expect(page.get_by_role("button", name="Issue token")).to_be_visible()
        await expect(page.get_by_text("disk runs low")).to_have_count(0)
        await visits.close()
        assert visits.watch.problems == []
