"""Questions of sessions: answered in the inbox, rules that answers make, devices that are told."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Locator, Page, Route, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe
from tests.support.eventually import eventually, until
from tests.support.model_server import ModelRequest, ToolUse, Turn
from tests.support.node import Talk, World
from tests.support.push_service import PushService, push_service

pytestmark = MARKS

# Without a screen, Chromium calls them denied even where they were granted.
_GRANTED = "Object.defineProperty(Notification, 'permission', { get: () => 'granted' })"
# Nor has it a push service or a place for notifications: these are the only parts that are made up.
_SUBSCRIBED = """
  let made = null;
  PushManager.prototype.getSubscription = async () => made;
  PushManager.prototype.subscribe = async () => (made = {
    endpoint: GIVEN.endpoint, options: { applicationServerKey: null }, toJSON: () => GIVEN,
    unsubscribe: async () => { made = null; return true; },
  });
"""
_IN_THE_BACKGROUND = """
  Object.defineProperty(document, 'hidden', { get: () => true });
  window.told = [];
  window.Notification = class {
    static permission = 'granted';
    static requestPermission = async () => 'granted';
    isClosed = false;
    constructor(title, { body }) {
      Object.assign(this, { title, body });
      told.push(this);
    }
    close() { this.isClosed = true; }
  };
"""
_TOLD = "() => told.map(({ title, body, isClosed }) => [title, body, isClosed])"
_SHOWN = """() => {
  delete WorkerNavigator.prototype.setAppBadge;
  self.shown = [];
  self.registration.showNotification = async (title, { body, data }) =>
    void self.shown.push([title, body, data.to]);
}"""
LONG = " && ".join(f"mkdir -p made/{number}" for number in range(80))


@asynccontextmanager
async def asking(world: World, title: str, *calls: ToolUse) -> AsyncIterator[Talk]:
    """A session that wants to do these, one after the other, and waits for somebody's word."""

    def is_its_own(request: ModelRequest) -> bool:
        return request.prompt.startswith(title)

    answers = [Turn(tool_calls=[call]) for call in calls]
    world.model.when(is_its_own, *answers, Turn(text=f"{title}: done."))
    async with await world.session(agent={"confirm": "dangerous"}, title=title) as talk:
        await talk.say(f"{title}, please.")
        await talk.until("approval_request")
        yield talk


def bash(command: str) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command})


def card(page: Page, title: str) -> Locator:
    """The question of the session of that title."""
    group = page.locator("section").filter(has=page.get_by_role("heading", name=title))
    return group.get_by_role("article")


async def test_a_whole_command_is_shown_and_always_makes_the_rule_that_was_shown_first(
    world: World, page: Page
) -> None:
    async with asking(world, "Always", bash("mkdir -p always"), bash("mkdir -p always")) as talk:
        await page.goto("/")
        await page.get_by_role("link", name="Inbox").click()
        question = card(page, "Always")
        await expect(question.get_by_text("mkdir -p always", exact=True)).to_be_visible()
        fence = talk.events("approval_request")[0]["fence"]
        await expect(question.get_by_text(f"Fence: {fence}", exact=True)).to_be_visible()
        await question.get_by_role("button", name="Always").click()
        await expect(question.get_by_text("allow bash(mkdir -p always)")).to_be_visible()
        assert await axe(page) == []
        await question.get_by_role("button", name="Allow always").click()
        await expect(question).to_have_count(0)
        await talk.until("execution_complete")
        assert len(talk.events("approval_request")) == 1, "the second call was not asked about"
    await page.goto("/rules")
    row = page.get_by_role("row").filter(has_text="bash(mkdir -p always)")
    await expect(row).to_contain_text("A machine")
    assert await axe(page) == []
    await row.get_by_role("button", name="Take back").click()
    await page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    await expect(page.get_by_text("There are no rules yet")).to_be_visible()
    assert (await world.user.ok("GET", "/rules"))["items"] == []


async def test_the_keyboard_chooses_allows_and_denies_with_a_reason(
    world: World, visits: Visits
) -> None:
    async with (
        asking(world, "First", bash("mkdir -p first")) as first,
        asking(world, "Second", bash("mkdir -p second")) as second,
    ):
        page = await visits.user("/inbox")
        await expect(card(page, "Second")).to_be_visible()
        await expect(page).to_have_title(re.compile(r"^\(2\)"))
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await expect(card(page, "Second")).to_be_focused()
        await page.keyboard.press("n")
        await page.keyboard.type("not on a Friday")
        await page.keyboard.press("Enter")
        await expect(card(page, "Second")).to_have_count(0)
        ended = await second.until("tool_call_complete")
        assert "not on a Friday" in str(ended["result"])
        await page.keyboard.press("k")
        await expect(card(page, "First")).to_be_focused()
        await page.keyboard.press("y")
        await expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        await first.until("execution_complete")
        await page.get_by_role("tab", name="Answered").click()
        await expect(card(page, "First").get_by_text("Allowed once")).to_be_visible()
        await expect(card(page, "Second").get_by_text("Denied")).to_be_visible()
        assert await axe(page) == []


async def test_what_is_answered_elsewhere_closes_here_and_a_lost_race_is_said(
    world: World, visits: Visits
) -> None:
    async with asking(world, "Elsewhere", bash("mkdir -p elsewhere")) as talk:
        page = await visits.user("/inbox")
        await expect(card(page, "Elsewhere")).to_be_visible()
        (asked,) = talk.events("approval_request")
        await talk.answer(asked["request_id"], confirmed=True)
        await expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        await talk.until("execution_complete")
    async with asking(world, "Race", bash("mkdir -p race")) as talk:
        page = await visits.user("/rules", service_workers="block")
        visits.watch.expect("ERR_FAILED GET /api/v1/(stream|approvals)|409 POST /api/v1/approvals/")
        await page.route(re.compile(r"/api/v1/stream"), cut)
        await page.goto("/inbox")
        await expect(card(page, "Race")).to_be_visible()
        # From now on nobody tells this page anything: it is the second to answer.
        await page.route(re.compile(r"/api/v1/approvals\?"), cut)
        (asked,) = talk.events("approval_request")
        await talk.answer(asked["request_id"], confirmed=True)
        await card(page, "Race").get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Somebody answered it first")).to_be_visible()
        await expect(card(page, "Race")).to_have_count(0)


async def cut(route: Route) -> None:
    await route.abort()


async def test_a_question_in_words_and_a_long_one_on_a_phone(world: World, visits: Visits) -> None:
    choice = {"question": "Which colour?", "options": ["red", "blue"]}
    calls = [bash(LONG), ToolUse(name="ask_user", arguments=choice)]
    async with asking(world, "Phone", *calls) as talk:
        page = await visits.user("/inbox", **PHONE)
        question = card(page, "Phone")
        await expect(question.get_by_role("region", name="command")).to_have_text(LONG)
        for part in (question.get_by_role("region"), question.get_by_role("button", name="No…")):
            box = await part.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= PHONE["viewport"]["width"]
        await question.get_by_role("button", name="For this session").click()
        await expect(question.get_by_text("Which colour?")).to_be_visible()
        assert await axe(page) == []
        await question.get_by_role("button", name="blue").click()
        answered = await talk.until("tool_call_complete", 2)
        assert "blue" in str(answered["result"])


async def test_a_rule_is_read_and_tried_before_it_is_made(visits: Visits) -> None:
    page = await visits.user("/rules")
    visits.watch.expect("400 GET /api/v1/rules/trial")
    await page.get_by_role("button", name="Add a rule").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("What").select_option("deny")
    await form.get_by_label("Rule", exact=True).fill("Bash(rm *")
    await expect(form.get_by_role("alert")).to_contain_text("a tool's name")
    await form.get_by_label("Rule", exact=True).fill("Bash(rm *)")
    await expect(form.get_by_text("Read as: bash(rm *)")).to_be_visible()
    await form.get_by_label("Try it").fill("ls && rm -rf x")
    await expect(form.get_by_text("The rule is for it")).to_be_visible()
    await form.get_by_label("Try it").fill("ls")
    await expect(form.get_by_text("The rule is not for it")).to_be_visible()
    assert await axe(page) == []
    await form.get_by_role("button", name="Add").click()
    row = page.get_by_role("row").filter(has_text="bash(rm *)")
    await expect(row).to_contain_text("All your sessions")
    await row.get_by_role("button", name="Take back").click()
    await page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    await expect(row).to_have_count(0)


async def test_devices_are_told_by_choice_and_what_hinders_it_is_said(
    world: World, visits: Visits
) -> None:
    subscription = PushService().browser("old").subscription
    phone = {**subscription, "endpoint": "https://push.example/1", "name": "Old phone"}
    await world.user.ok("POST", "/push/subscriptions", phone)
    page = await visits.user("/settings")
    await expect(page.get_by_role("row").filter(has_text="Old phone")).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("button", name="Remove Old phone").click()
    await expect(page.get_by_text("No other device is told")).to_be_visible()
    await expect(page.get_by_text("Notifications are not allowed for this page")).to_be_visible()
    await page.context.grant_permissions(["notifications"])
    await page.context.add_init_script(_GRANTED)
    await page.reload()
    await page.get_by_role("switch", name="While the page is open").check()
    await page.get_by_role("button", name="Tell this device").click()
    # This Chromium has no push service behind it, and says so in its console too.
    visits.watch.expect("does not support the Push API")
    await expect(page.get_by_text("push service could not be reached")).to_be_visible()


async def test_a_page_in_the_background_tells_what_asks_and_what_has_ended(
    world: World, visits: Visits
) -> None:
    page = await visits.user(None)
    await page.context.add_init_script(f"{{ {_IN_THE_BACKGROUND} }}")
    async with page.expect_response(re.compile(r"/api/v1/approvals\?.*state=pending")):
        await page.goto("/settings")
    await page.get_by_role("switch", name="While the page is open").check()

    async def told() -> list[list[object]]:
        return list(await page.evaluate(_TOLD))

    async with asking(world, "Unseen", bash("mkdir -p unseen")) as talk:
        assert await eventually(told) == [["Unseen needs you", "May I use bash?", False]]
        await talk.answer(talk.events("approval_request")[0]["request_id"], confirmed=True)
        shown = await eventually(told, lambda seen: len(seen) > 1)
        assert shown == [
            ["Unseen needs you", "May I use bash?", True],
            ["Unseen is done", "", False],
        ]
    await page.evaluate("() => told[1].onclick()")
    await expect(page).to_have_url(re.compile(f"/chat/{talk.id}$"))


async def subscribe(page: Page, subscription: dict[str, object]) -> None:
    """By the form, on a device that has a push service with this subscription."""
    await page.context.grant_permissions(["notifications"])
    given = f"const GIVEN = {json.dumps(subscription)};"
    await page.context.add_init_script(f"{{ {_GRANTED}; {given} {_SUBSCRIBED} }}")
    await page.context.add_init_script("Notification.requestPermission = async () => 'granted'")
    await page.goto("/settings")
    await page.get_by_role("button", name="Tell this device").click()
    await expect(page.get_by_label("needs you")).to_be_checked()


async def test_quiet_hours_are_set_for_the_device_and_taken_back(world: World, page: Page) -> None:
    endpoint = "https://push.example/quiet"
    await subscribe(page, {**PushService().browser("quiet").subscription, "endpoint": endpoint})

    async def kept() -> list[object]:
        return [one["quiet"] for one in (await world.user.ok("GET", "/push"))["subscriptions"]]

    quiet = page.get_by_role("switch", name="Quiet hours")
    await quiet.click()  # it moves when the server has it
    await page.get_by_label("From", exact=True).fill("21:30")
    wanted = {"from": "21:30", "to": "07:00", "time_zone": "UTC"}
    await eventually(kept, lambda seen: seen == [wanted])
    assert await axe(page) == []
    await quiet.click()
    await eventually(kept, lambda seen: seen == [None])
    await page.get_by_role("button", name="Stop telling this device").click()
    await expect(page.get_by_role("button", name="Tell this device")).to_be_visible()
    assert await kept() == []


async def test_what_machines_and_the_server_say_is_in_the_pages_language(
    world: World, visits: Visits
) -> None:
    async with asking(world, "翻译", bash("mkdir -p words")) as talk:
        page = await visits.user("/inbox", locale="zh-CN")
        fence = card(page, "翻译").get_by_text("隔离：")
        await expect(fence).to_be_visible()
        assert re.findall(r"[a-z]+: |[a-z]{3,} [a-z]{3,}", await fence.inner_text()) == []
        await card(page, "翻译").get_by_role("button", name="允许一次").click()
        await talk.until("execution_complete")
    await page.goto(f"/machines/{world.node.machine_id}")
    await expect(page.get_by_role("heading", name="运行时", exact=True)).to_be_visible()
    await expect(page.get_by_text("is not installed")).to_have_count(0)
    await page.goto(f"/chat/{talk.id}")
    await page.get_by_role("button", name="此会话的操作").click()
    await page.get_by_role("menuitem", name="创建副本").click()
    await expect(page.get_by_role("heading", name="翻译（副本）")).to_be_visible()
    await expect(page.get_by_text("这是副本")).to_be_visible()


async def test_a_phone_whose_page_is_closed_is_told_by_its_worker(
    world: World, visits: Visits
) -> None:
    """From the click to the notification: the server's message, as its push service decrypts it, is
    given to the worker that Chromium runs."""
    async with push_service() as service:
        phone = service.browser("phone")
        page = await visits.user(None, **PHONE)
        await subscribe(page, phone.subscription)
        [worker] = page.context.service_workers
        await worker.evaluate(_SHOWN)
        outside = await page.context.new_page()
        await page.close()
        devtools = await page.context.new_cdp_session(outside)
        known: list[dict[str, str]] = []
        devtools.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda told: known.extend(told["registrations"]),
        )
        await devtools.send("ServiceWorker.enable")
        [registration] = await until(lambda: known)
        async with asking(world, "Pushed", bash("mkdir -p pushed")):
            [told] = await phone.gets(1)
            await devtools.send(
                "ServiceWorker.deliverPushMessage",
                {
                    "origin": world.control.url,
                    "registrationId": registration["registrationId"],
                    "data": json.dumps(told),
                },
            )
            [shown] = await eventually(lambda: worker.evaluate("() => self.shown"))
    inbox = f"/inbox#{told['approval_id']}"
    assert shown == ["Pushed needs you", "May I use bash?", inbox]
