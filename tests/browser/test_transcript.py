"""A conversation as a page shows it, while the line, the page and the server come and go."""

import re
from collections.abc import Callable
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.harness import MARKS, Visits, axe, copied
from tests.browser.talking import say
from tests.support.control import ControlProcess
from tests.support.model_server import Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.node import World
from tests.support.proxy import CuttableProxy

pytestmark = MARKS

CODE = "def parse(text: str) -> list[str]:\n    return text.split()"
ANSWER = (
    "## Found it\n\nThe parser *skips* empty lines:\n\n"
    f"```python\n{CODE}\n```\n\n"
    "- one\n- two\n\n<b>raw</b> [bad](javascript:alert(1))\n"
)
WRITE = "printf 'one\\ntwo\\n' > made.txt && expr 4000 + 242"


def bash(command: str) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command})


def asked(prompt: str) -> Callable[[ModelRequest], bool]:
    return lambda request: request.prompt == prompt


def rows(page: Page, kind: str) -> Locator:
    return page.locator(f"[data-row={kind}]")


def halves(gate: Gate) -> Turn:
    """An answer that stops in the middle of a word."""
    return Turn(chunks=["The first ha", gate, "lf, and ", "the **second** half."])


async def test_a_turn_with_tools_is_shown_as_it_was(
    visits: Visits, world: World, model: ModelServer
) -> None:
    model.when(
        asked("Why is it wrong?"),
        Turn(text="I look.", tool_calls=[bash(WRITE), bash("ls nowhere")]),
        Turn(text=ANSWER),
    )
    talk = await world.session()
    page = await visits.user(f"/chat/{talk.id}")
    await talk.say("Why is it wrong?")

    await expect(page.get_by_role("article", name="You")).to_contain_text("Why is it wrong?")
    await expect(page.get_by_role("heading", name="Found it")).to_be_visible()
    worked, failed = rows(page, "tool").nth(0), rows(page, "tool").nth(1)
    await expect(failed).to_contain_text("No such file")  # opened by itself
    await expect(worked).not_to_contain_text("4242")
    await worked.get_by_role("button", name=re.compile("bash")).click()
    await expect(worked).to_contain_text("4242")

    # Colours come from the worker; raw HTML and bad links are text.
    await expect(page.locator("pre code span").filter(has_text="def").first).to_be_visible()
    await expect(rows(page, "block").filter(has_text="<b>raw</b> bad")).to_be_visible()
    assert await page.get_by_role("link", name="bad").count() == 0
    code = page.get_by_role("figure", name="Code, python")
    assert await copied(page, code.get_by_role("button", name="Copy: Code")) == CODE

    end = rows(page, "end")
    await expect(end).to_contain_text("tokens in")
    await end.get_by_role("button", name=re.compile("1 file changed")).click()
    await expect(end.locator("ins")).to_have_text(["one", "two"])
    async with page.expect_download() as started:
        await end.get_by_role("link", name="Download made.txt").click()
    assert (await (await started.value).path()).read_text() == "one\ntwo\n"
    assert await axe(page) == []

    await page.get_by_role("button", name="Files, changes and usage").click()
    side = page.get_by_role("complementary", name="Files, changes and usage")
    await side.get_by_role("tab", name="Changes").click()
    await expect(side.locator("ins")).to_have_text(["one", "two"])
    assert await axe(page) == []


async def test_thoughts_are_folded_and_a_plan_is_ticked_off_where_it_stands(
    visits: Visits, world: World, model: ModelServer
) -> None:
    gate = Gate()
    model.when(
        asked("Tidy up."),
        Turn(
            thinking="First the shelf.\nThen the floor.",
            tool_calls=[plan("in_progress", "pending")],
        ),
        Turn(tool_calls=[plan("completed", "in_progress")], gate=gate),
        Turn(text="Tidy."),
    )
    talk = await world.session()
    page = await visits.user(f"/chat/{talk.id}")
    await talk.say("Tidy up.")
    [thought, tasks] = rows(page, "thinking"), rows(page, "plan")
    await expect(tasks).to_contain_text("Plan · 0 of 2")
    await expect(tasks.get_by_role("listitem")).to_have_count(2)
    await expect(thought).to_contain_text("Then the floor.")
    await expect(thought.get_by_text("First the shelf.")).to_have_count(0)
    await thought.get_by_role("button", name="Thought").click()
    await expect(thought.get_by_text("First the shelf.")).to_be_visible()
    gate.open()
    await expect(page.get_by_text("Tidy.", exact=True)).to_be_visible()
    await expect(tasks).to_have_count(1)
    await expect(tasks).to_contain_text("Plan · 1 of 2")
    for task, state in (("the shelf", "done"), ("the floor", "in progress")):
        item = tasks.get_by_role("listitem").filter(has_text=task)
        await expect(item.get_by_role("img", name=state, exact=True)).to_be_visible()
    assert await axe(page) == []


def plan(*states: str) -> ToolUse:
    names = ("Wipe the shelf", "Sweep the floor")
    todos = [{"content": name, "status": state} for name, state in zip(names, states, strict=True)]
    return ToolUse(name="todo_write", arguments={"todos": todos})


async def test_the_call_of_a_skill_is_one_card_with_its_name(visits: Visits, world: World) -> None:
    async with await world.user.vm(name="with skills") as vm:
        [machine] = [
            one["id"]
            for one in (await world.user.ok("GET", "/machines"))["items"]
            if one["name"] == "with skills"
        ]
        session = await world.user.session(machine_id=machine)
        page = await visits.user(f"/chat/{session}")
        called: dict[str, Any] = {"tool_call_id": "c-1", "tool_name": "Skill"}
        skill: dict[str, Any] = {"tool_call_id": "c-1", "skill_name": "release-notes"}
        await vm.event(
            session, type="tool_call_start", **called, tool_input={"skill": "release-notes"}
        )
        await vm.event(session, type="skill_call_start", **skill, arguments={"since": "1.3"})
        card = rows(page, "tool")
        await expect(card).to_contain_text("Skill release-notes")
        await expect(card.get_by_label("Running")).to_be_visible()
        await vm.event(session, type="tool_call_complete", **called, result="Three new things.")
        await vm.event(session, type="skill_call_complete", **skill)
        await expect(card.get_by_label("Done")).to_be_visible()
        await expect(card).not_to_contain_text("Three new things.")
        await card.get_by_role("button", name="Skill release-notes").click()
        await expect(card.get_by_role("region", name="Result")).to_have_text("Three new things.")
        await expect(card).to_have_count(1)


async def test_a_page_that_is_read_again_goes_on_in_mid_stream(
    visits: Visits, world: World, model: ModelServer
) -> None:
    gate = Gate()
    model.when(asked("Tell me again."), halves(gate))
    talk = await world.session()
    page = await visits.user(f"/chat/{talk.id}")
    other = await page.context.new_page()  # the same stream in a second tab
    await other.goto(f"/chat/{talk.id}")
    await talk.say("Tell me again.")
    for tab in (page, other):
        await expect(rows(tab, "block")).to_have_text("The first ha")
    await page.reload()
    await expect(rows(page, "block")).to_have_text("The first ha")
    gate.open()
    for tab in (page, other):
        await expect(rows(tab, "end")).to_be_visible()
        await expect(rows(tab, "block")).to_have_text("The first half, and the second half.")
        await expect(rows(tab, "user")).to_have_count(1)


async def test_a_line_that_breaks_comes_back_where_it_was(
    visits: Visits, world: World, model: ModelServer, control: ControlProcess
) -> None:
    visits.watch.expect("net::ERR_")
    gate = Gate()
    model.when(asked("Tell me further."), halves(gate))
    talk = await world.session()
    async with CuttableProxy(control.port) as proxy:
        page = await visits.user(f"/chat/{talk.id}", url=f"http://127.0.0.1:{proxy.port}")
        await talk.say("Tell me further.")
        await expect(rows(page, "block")).to_have_text("The first ha")
        proxy.cut()
        away = page.get_by_text("The server cannot be reached.")
        await expect(away).to_be_visible()
        gate.open()
        await world.user.until_turns(talk.id, "completed")
        proxy.mend()
        await expect(rows(page, "end")).to_be_visible()
        await expect(away).to_have_count(0)
        await expect(rows(page, "block")).to_have_text("The first half, and the second half.")


async def test_a_server_that_starts_again_is_not_noticed(
    visits: Visits, world: World, model: ModelServer, control: ControlProcess
) -> None:
    visits.watch.expect("net::ERR_")
    gate = Gate()
    model.when(asked("Tell me anyway."), halves(gate))
    talk = await world.session()
    page = await visits.user(f"/chat/{talk.id}")
    await talk.say("Tell me anyway.")
    await expect(rows(page, "block")).to_have_text("The first ha")
    await control.kill()
    await control.start()
    gate.open()
    await expect(rows(page, "end")).to_be_visible()
    await expect(rows(page, "block")).to_have_text("The first half, and the second half.")
    await expect(rows(page, "notice")).to_contain_text("Until it was back, it went on without:")


async def test_a_machine_that_is_away_says_what_still_works_and_what_waits(
    visits: Visits, world: World, model: ModelServer
) -> None:
    model.when(asked("Are you back?"), Turn(text="I am back."))
    talk = await world.session(title="Left alone")
    page = await visits.user(f"/chat/{talk.id}")
    await expect(page.get_by_role("heading", name="Left alone")).to_be_visible()
    away = page.get_by_text("you can read and write here; messages wait until it is back")
    await world.node.kill()
    await expect(away).to_be_visible()
    assert await axe(page) == []
    await say(page, "Are you back?")
    await expect(rows(page, "notice")).to_contain_text("The message waits until it is back.")
    await page.goto(f"/machines/{world.node.machine_id}")
    told = page.get_by_role("heading", name="Works less well now")
    without = page.locator("section").filter(has=told)
    await expect(without).to_contain_text("long-term memory")
    await expect(without).to_contain_text("searches find nothing")
    await page.go_back()
    await world.node.start()
    await expect(page.get_by_text("I am back.")).to_be_visible()
    await expect(away).to_have_count(0)


async def test_who_reads_above_is_not_moved_by_what_comes_below(
    visits: Visits, world: World, model: ModelServer
) -> None:
    gate = Gate()
    long = "\n\n".join(f"Paragraph {number} of many." for number in range(80))
    said: list[str | Gate] = [long, gate, "\n\nA new one.\n\nAnd another."]
    model.when(asked("Tell me much."), Turn(chunks=said))
    talk = await world.session()
    page = await visits.user(f"/chat/{talk.id}")
    await talk.say("Tell me much.")
    await expect(page.get_by_text("Paragraph 79 of many.")).to_be_visible()  # it stays at the end
    log = page.get_by_role("log")
    await log.hover()
    await page.mouse.wheel(0, -1500)
    await expect(page.get_by_text("Paragraph 79 of many.")).to_be_hidden()
    await expect(page.get_by_role("button", name="To the end")).to_be_visible()
    seen = await log.evaluate("log => log.scrollTop")
    gate.open()
    await world.user.until_turns(talk.id, "completed")
    to_end = page.get_by_role("button", name=re.compile("new below"))
    await expect(to_end).to_be_visible()
    assert await log.evaluate("log => log.scrollTop") == seen
    await to_end.click()
    await expect(page.get_by_text("And another.")).to_be_visible()
    await expect(to_end).to_be_hidden()
