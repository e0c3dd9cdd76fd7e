"""What tests of the page look through: a real Chromium, and what it complains of.

Scripts are passed to the page as functions, `page.evaluate("() => …")`: it has a strict policy.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Response,
    WebError,
    expect,
)

from tests.support import chromium
from tests.support.control import Control, TestUser
from tests.support.eventually import WAIT_S
from tests.support.runtimes import installed

MARKS = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}

_AXE = installed.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_GRAVE = ("serious", "critical")
_TOLD_BY_THE_RESPONSE = "Failed to load resource"
_GIVEN_UP = "net::ERR_ABORTED"  # by the page itself, or by leaving it
_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", event =>
  window.tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`))
"""

expect.set_options(timeout=WAIT_S * 1000)


async def launch(playwright: Playwright) -> Browser:
    """Skips the test, with the reason, where there is no Chromium."""
    installed.need(chromium.NAME)
    program = chromium.executable(installed.CACHE.programs)
    assert program is not None
    return await playwright.chromium.launch(
        executable_path=program,
        args=list(chromium.FLAGS),
        env={**chromium.environment(program)},
    )


class Watch:
    """What goes wrong in pages, unseen: errors, violations of their policy, failed requests."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect(self, pattern: str) -> None:
        """The test brings this about: `401 GET /api/v1/me`, `net::ERR_INTERNET_DISCONNECTED`."""
        self._expected.append(re.compile(pattern))

    @property
    def problems(self) -> list[str]:
        return [one for one in self._seen if not any(known.search(one) for known in self._expected)]

    async def over(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("requestfailed", self._on_failure)
        context.on("response", self._on_response)
        await context.expose_binding("tellViolation", self._on_violation)
        await context.add_init_script(_REPORT_VIOLATIONS)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_TOLD_BY_THE_RESPONSE):
            self._seen.append(f"console: {message.text}")

    def _on_error(self, error: WebError) -> None:
        self._seen.append(f"uncaught: {error.error}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != _GIVEN_UP:
            self._seen.append(f"{request.failure} {request.method} {_path(request.url)}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            method = response.request.method
            self._seen.append(f"{response.status} {method} {_path(response.url)}")

    def _on_violation(self, _source: object, told: str) -> None:
        self._seen.append(f"policy: {told}")


class Visits:
    """Opens pages of one control plane, each in a browser profile of its own."""

    def __init__(self, browser: Browser, control: Control, user: TestUser) -> None:
        self._browser = browser
        self._control = control
        self._user = user
        self._contexts: list[BrowserContext] = []
        self.watch = Watch()

    async def stranger(self, path: str = "/", *, url: str | None = None, **options: Any) -> Page:
        """A page of somebody who is not logged in. `options`: of the profile, as `PHONE`,
        `locale="zh-CN"`, `color_scheme="dark"`. `url`: of a proxy before the control plane."""
        page = await self._profile(url, options)
        await page.goto(path)
        return page

    async def _profile(self, url: str | None, options: dict[str, Any]) -> Page:
        """A tab of a new one, which shows nothing yet."""
        chosen = {**DESK, "locale": "en-US", "timezone_id": "UTC", "reduced_motion": "reduce"}
        context = await self._browser.new_context(
            base_url=url or self._control.url, **{**chosen, **options}
        )
        self._contexts.append(context)
        context.set_default_timeout(WAIT_S * 1000)
        await self.watch.over(context)
        return await context.new_page()

    async def user(
        self,
        path: str | None = "/",
        *,
        as_user: TestUser | None = None,
        url: str | None = None,
        **more: Any,
    ) -> Page:
        """A page of somebody whom a login link let in; further tabs: `page.context.new_page()`.
        Without a path it is nowhere yet."""
        who = as_user or self._user
        link = urlsplit((await who.ok("POST", f"/users/{who.id}/login-link"))["url"])
        page = await self._profile(url, more)
        login = f"{link.path}?{link.query}"
        if path == "/":
            await page.goto(login)
            return page
        # As the page does it, without drawing the page that it leads to.
        assert (await page.request.get(login)).ok
        if path is not None:
            await page.goto(path)
        return page

    @property
    def pages(self) -> list[Page]:
        return [page for context in self._contexts for page in context.pages]

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()


async def axe(page: Page, *rules: str) -> list[str]:
    """What is grave about the page for people who cannot see it, or use no mouse; by all rules, or
    by these."""
    session = await page.context.new_cdp_session(page)  # the page's policy allows no script of ours
    await session.send("Runtime.evaluate", {"expression": _axe_source()})
    ran = await session.send(
        "Runtime.evaluate",
        {
            "expression": f"axe.run({json.dumps({'runOnly': rules} if rules else {})})"
            ".then(found => JSON.stringify(found.violations))",
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    await session.detach()
    assert "value" in ran["result"], ran
    return [
        f"{found['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for found in json.loads(ran["result"]["value"])
        if found["impact"] in _GRAVE
        for node in found["nodes"]
    ]


GROUND = "() => getComputedStyle(document.body).backgroundColor"


async def darken(page: Page) -> str:
    """As the system does at night; the ground that the page has then."""
    ground = str(await page.evaluate(GROUND))
    await page.emulate_media(color_scheme="dark")
    await expect(page.locator("body")).not_to_have_css("background-color", ground)
    return str(await page.evaluate(GROUND))


@functools.cache
def _axe_source() -> str:
    return _AXE.read_text(encoding="utf-8")


def _path(url: str) -> str:
    return urlsplit(url).path


async def copied(page: Page, button: Locator) -> str:
    """What is in the clipboard when that button has copied something."""
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await button.click()
    await expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    return str(await page.evaluate("() => navigator.clipboard.readText()"))


async def picture(page: Page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=path, animations="disabled", caret="hide")
