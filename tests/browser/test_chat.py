"""Chats: the first one, said to while they run, stopped, copied, found, put in order."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe
from tests.browser.talking import answers, message, opened, say
from tests.support.control import ControlProcess
from tests.support.git import committed
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import MODEL, World

pytestmark = MARKS


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the machine's owner, with something committed."""
    folder = tmp_path_factory.mktemp("projects") / "site"
    folder.mkdir()
    (folder / "page.txt").write_text("one\n")
    committed(folder)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    control: ControlProcess,
    model: ModelServer,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[World]:
    roots = {"TRUNKLINE_NODE_ROOTS": str(repository.parent)}
    world = World(control, model, tmp_path_factory.mktemp("node") / "home", roots)
    await world.open(role="admin")
    yield world
    await world.close()


def entry(page: Page, title: str) -> Locator:
    """A chat in the list at the side."""
    chats = page.get_by_role("complementary", name="Chats")
    return chats.get_by_role("listitem").filter(has_text=title)


async def test_a_first_chat_is_begun_with_choices_and_remembered_ones(
    world: World, page: Page
) -> None:
    world.model.models = [MODEL]
    answers(world.model, "Good morning", Turn(text="Good **morning** to you."))
    await page.goto("/chat")
    assert await axe(page) == []
    await page.get_by_role("button", name="New chat with options").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Model").fill(MODEL)
    await expect(dialog.locator(f"datalist option[value='{MODEL}']")).to_be_attached()
    await expect(
        dialog.get_by_label("Runtime").locator("option", has_text="semigraph")
    ).to_be_attached()
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Begin").click()
    await say(page, "Good morning")
    await expect(page.get_by_text("Good morning to you.")).to_be_visible()
    await expect(message(page)).to_have_value("")
    await expect(entry(page, "Good morning")).to_be_visible()
    assert await axe(page) == []
    first = page.url
    await page.get_by_role("button", name="New chat", exact=True).click()
    await expect(page).not_to_have_url(first)
    made = await world.user.ok("GET", f"/sessions/{page.url.rpartition('/')[2]}")
    config = made["agent_config"]
    assert (config["model"], config["permission_mode"]) == ("gpt-scripted", "ask")


async def test_a_chat_has_the_agent_the_machine_the_model_and_the_folder_that_were_chosen(
    world: World, page: Page, repository: Path
) -> None:
    user = world.user
    keeper = await user.ok(
        "POST", "/agents", {"name": "Keeper", "system_prompt": "You keep the site."}
    )
    machine = await user.ok("GET", f"/machines/{world.node.machine_id}")
    read = ToolUse(name="read_file", arguments={"path": "page.txt"})
    answers(world.model, "What does it say", Turn(tool_calls=[read]), Turn(text="It says one."))
    async with await user.vm(name="spare"):
        await page.goto("/chat")
        await page.get_by_role("button", name="New chat with options").click()
        dialog = page.get_by_role("dialog")
        chosen = {"Agent": "Keeper", "Machine": machine["name"], "Runtime": "semigraph"}
        for label, choice in chosen.items():
            await dialog.get_by_label(label, exact=True).select_option(label=choice)
        await dialog.get_by_label("Model", exact=True).fill("gpt-5.4-mini")
        await dialog.get_by_label("Folder", exact=True).fill(str(repository))
        await dialog.get_by_label("Permissions").select_option("plan")
        await dialog.get_by_role("button", name="Begin").click()
        await say(page, "What does it say")
        await expect(page.get_by_text("It says one.")).to_be_visible()
        head = page.get_by_role("main").locator("header")
        for fact in (machine["name"], "gpt-5.4-mini", str(repository), "semigraph"):
            await expect(head).to_contain_text(fact)
        asked = world.model.requests[-1]
        assert (asked.model, "You keep the site." in asked.system) == ("gpt-5.4-mini", True)
        card = page.locator("[data-row=tool]")
        await card.get_by_role("button", name="read_file").click()
        await expect(card.get_by_role("region", name="Result")).to_contain_text("one")
        made = await user.ok("GET", f"/sessions/{page.url.rpartition('/')[2]}")
        assert (made["agent_id"], made["machine_id"]) == (keeper["id"], machine["id"])
        assert made["agent_config"]["permission_mode"] == "plan"
        await page.get_by_role("button", name="New chat with options").click()
        await expect(dialog.get_by_label("Agent", exact=True)).to_have_value(keeper["id"])
        await expect(dialog.get_by_label("Folder", exact=True)).to_have_value(str(repository))
        await dialog.get_by_label("Machine", exact=True).select_option(label="spare")
        await dialog.get_by_role("button", name="Begin").click()
        await expect(head).to_contain_text("spare")


async def test_a_running_turn_is_steered_and_the_next_message_waits(
    world: World, page: Page
) -> None:
    gate = Gate()
    answers(
        world.model,
        "Count the files",
        Turn(tool_calls=[ToolUse(name="list_directory", arguments={"path": "."})], gate=gate),
        Turn(text="Counted, the hidden ones too."),
    )
    answers(world.model, "And then rest", Turn(text="Resting."))
    await opened(world, page, "Steered")
    await say(page, "Count the files")
    await gate.reached.wait()
    await say(page, "The hidden ones too")
    await expect(page.get_by_text("waits for the next step")).to_be_visible()
    await page.get_by_role("button", name="Queue").click()
    await say(page, "And then rest")
    await expect(page.get_by_text("1 message waits")).to_be_visible()
    gate.open()
    await expect(page.get_by_text("Counted, the hidden ones too.")).to_be_visible()
    await expect(page.get_by_text("Resting.")).to_be_visible()
    await expect(page.get_by_text("taken into account")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def test_the_list_says_which_chat_needs_somebody_and_which_is_done(
    world: World, page: Page
) -> None:
    gate = Gate()
    made = ToolUse(name="bash", arguments={"command": "mkdir -p asked"})
    answers(world.model, "Make a folder", Turn(tool_calls=[made]), Turn(text="Made.", gate=gate))
    other = await opened(world, page, "Another")
    await opened(world, page, "Asking", agent={"confirm": "dangerous"})
    await say(page, "Make a folder")
    await expect(page.get_by_text("mkdir -p asked", exact=True)).to_be_visible()
    await entry(page, "Another").get_by_role("link").click()
    await expect(page).to_have_url(re.compile(other))
    await expect(entry(page, "Asking")).to_contain_text("Needs you")
    await entry(page, "Asking").get_by_role("link").click()
    await page.get_by_role("button", name="Allow once").click()
    await gate.reached.wait()
    await entry(page, "Another").get_by_role("link").click()
    await expect(entry(page, "Asking").get_by_label("Running")).to_be_visible()
    gate.open()
    await expect(entry(page, "Asking")).to_contain_text("Done, not read yet")
    await entry(page, "Asking").get_by_role("link").click()
    await expect(entry(page, "Asking")).not_to_contain_text("Done, not read yet")
    await expect(page.get_by_text("Made.")).to_be_visible()


async def test_a_turn_is_stopped(world: World, page: Page) -> None:
    gate = Gate()
    answers(world.model, "For ever", Turn(chunks=["On and on ", gate, "and on."]))
    await opened(world, page, "Stopped")
    await say(page, "For ever")
    await expect(page.get_by_text("On and on")).to_be_visible()
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    await expect(page.get_by_text("and on.")).to_have_count(0)


async def test_a_command_that_is_cut_off_keeps_what_it_had_shown(world: World, page: Page) -> None:
    counting = ToolUse(name="bash", arguments={"command": "echo as far as here; sleep 600"})
    answers(world.model, "Count on", Turn(tool_calls=[counting]))
    session_id = await opened(world, page, "Cut off", agent={"confirm": "never"})
    await say(page, "Count on")
    card = page.locator("[data-row=tool]")
    output = card.get_by_role("region", name="Terminal")
    await expect(output).to_have_text("as far as here")
    await world.user.ok("DELETE", f"/sessions/{session_id}")
    await expect(card).to_contain_text("Stopped")
    await expect(output).to_have_text("as far as here")


async def test_a_message_is_edited_in_a_copy_and_the_first_chat_stays(
    world: World, page: Page
) -> None:
    answers(world.model, "My name is Ann", Turn(text="Hello Ann."))
    first = await opened(world, page, "Names")
    await say(page, "My name is Ann")
    await expect(page.get_by_text("Hello Ann.")).to_be_visible()
    answers(world.model, "What is five times five", Turn(text="It is 24."))
    await say(page, "What is five times five")
    await expect(page.get_by_text("It is 24.")).to_be_visible()
    answers(world.model, "What is six times six", Turn(text="It is 36."))
    said = page.get_by_role("article", name="You").filter(has_text="five times five")
    await said.hover()
    await said.get_by_role("button", name="Edit and send again").click()
    await expect(message(page)).to_have_value("What is five times five")
    await say(page, "What is six times six")
    await expect(page.get_by_text("It is 36.")).to_be_visible()
    assert first not in page.url
    await expect(page.get_by_text("Hello Ann.")).to_be_visible()
    await expect(page.get_by_text("It is 24.")).to_have_count(0)
    await page.get_by_role("link", name="A copy of another chat").click()
    await expect(page.get_by_text("It is 24.")).to_be_visible()
    await expect(page.get_by_text("It is 36.")).to_have_count(0)


async def test_chats_are_found_by_what_was_said_renamed_pinned_archived_and_deleted(
    world: World, page: Page
) -> None:
    answers(world.model, "浦东", Turn(text="The bridge is closed."))
    session_id = await opened(world, page, "Travel")
    await say(page, "How do I get to 浦东机场?")
    await expect(page.get_by_text("The bridge is closed.")).to_be_visible()
    answers(world.model, "A long one", Turn(text="\n\n".join(f"Line {n}" for n in range(200))))
    await say(page, "A long one")
    await expect(page.get_by_text("Line 199")).to_be_in_viewport()
    search = page.get_by_role("textbox", name="Search chats")
    for wanted in ("BRIDGE closed", "浦东"):
        await search.fill(wanted)
        await expect(entry(page, "Travel")).to_be_visible()
    await entry(page, "Travel").click()
    await expect(page.get_by_text("How do I get to")).to_be_in_viewport()
    await search.fill("nothing like it")
    await expect(page.get_by_text("Nothing was found")).to_be_visible()
    await search.fill("")
    await page.get_by_role("button", name="Travel: Rename").click()
    await page.get_by_role("textbox", name="Title").fill("To the airport")
    await page.keyboard.press("Enter")
    row = entry(page, "To the airport")
    await expect(row).to_be_visible()
    await act(page, row, "Pin")
    await expect(row.get_by_label("Pinned")).to_be_visible()
    chats = page.get_by_role("complementary", name="Chats").get_by_role("listitem")
    await expect(chats.first).to_contain_text("To the airport")
    await act(page, row, "Archive")
    await expect(row).to_have_count(0)
    await page.get_by_role("button", name="Archived").click()
    await expect(row).to_be_visible()
    await act(page, row, "Delete…")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row).to_have_count(0)
    await expect(page).to_have_url(re.compile("/chat$"))
    status, _ = await world.user.call("GET", f"/sessions/{session_id}")
    assert status == 404
    await page.get_by_role("button", name="All", exact=True).click()


async def test_how_much_of_a_chat_is_kept_is_bounded_by_its_organisation(
    world: World, page: Page
) -> None:
    session_id = await opened(world, page, "Kept")
    bounds = page.get_by_role("dialog", name="How much is kept")
    await act(page, entry(page, "Kept"), "How much is kept…")
    await expect(bounds).to_contain_text("as the organisation has it, without a bound")
    await bounds.get_by_label("Days that events are kept").fill("30")
    assert await axe(page) == []
    await bounds.get_by_role("button", name="Save").click()
    await expect(bounds).to_have_count(0)
    kept = await world.user.ok("GET", f"/sessions/{session_id}/retention")
    assert kept["own"] == {"days": 30, "size_bytes": None}
    await act(page, entry(page, "Kept"), "How much is kept…")
    await expect(bounds.get_by_label("Days that events are kept")).to_have_value("30")


async def act(page: Page, row: Locator, name: str) -> None:
    await row.hover()
    await row.get_by_role("button", name="Actions for").click()
    await page.get_by_role("menuitem", name=name, exact=True).click()


async def test_what_was_written_is_kept_and_what_was_not_sent_is_sent_again(
    world: World, visits: Visits
) -> None:
    page = await visits.user(None)
    answers(world.model, "Kept over a reload", Turn(text="It was kept."))
    await opened(world, page, "Drafts")
    await message(page).fill("Kept over a reload")
    await page.reload()
    await expect(message(page)).to_have_value("Kept over a reload")
    # The Enter that takes a word of an input method sends nothing.
    await message(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    await message(page).dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
    await expect(message(page)).to_have_value("Kept over a reload")
    visits.watch.expect("ERR_FAILED POST")
    await page.route("**/messages", lambda route: route.abort())
    await message(page).press("Enter")
    await expect(page.get_by_text("Not sent.")).to_be_visible()
    await page.unroute("**/messages")
    await page.reload()
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("It was kept.")).to_be_visible()
    await expect(page.get_by_role("article", name="You")).to_have_count(1)


async def test_on_a_phone_the_list_and_a_chat_are_screens_of_their_own(
    world: World, visits: Visits
) -> None:
    answers(world.model, "From the phone", Turn(text="Read on the phone."))
    page = await visits.user(None, **PHONE)
    await opened(world, page, "Phone")
    await expect(page.get_by_role("complementary", name="Chats")).to_be_hidden()
    await message(page).fill("From the phone")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Read on the phone.")).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("link", name="All chats").click()
    await expect(entry(page, "Phone")).to_be_visible()
    await expect(message(page)).to_have_count(0)
    assert await axe(page) == []
    wide = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not await page.evaluate(wide)


async def test_the_side_shows_files_changes_to_apply_and_what_was_used(
    world: World, page: Page, repository: Path
) -> None:
    made = ToolUse(name="write_file", arguments={"path": "report.md", "content": "# Report\n"})
    answers(world.model, "Write a report", Turn(tool_calls=[made]), Turn(text="Written."))
    chosen = {"workspace": str(repository), "worktree": True}
    session_id = await opened(world, page, "Report", **chosen)
    await say(page, "Write a report")
    await expect(page.get_by_text("Written.")).to_be_visible()
    await page.get_by_role("button", name="Files, changes and usage").click()
    side = page.get_by_role("complementary", name="Files, changes and usage")
    await side.get_by_role("tab", name="Files").click()
    link = side.get_by_role("link", name="Download report.md")
    assert session_id in (await link.get_attribute("href") or "")
    await side.get_by_role("button", name="report.md", exact=True).click()
    shown = page.get_by_role("dialog")
    await expect(shown.get_by_text("# Report")).to_be_visible()
    await shown.get_by_role("button", name="Close").click()
    await side.get_by_role("tab", name="Usage").click()
    await expect(side.get_by_role("row", name="gpt-scripted")).to_be_visible()
    await side.get_by_role("tab", name="Changes").click()
    await expect(side.get_by_text("# Report")).to_be_visible()
    assert await axe(page) == []
    await side.get_by_role("button", name="Apply…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    await expect(side.get_by_text("This is in your folder.")).to_be_visible()
    assert (repository / "report.md").read_text() == "# Report\n"
