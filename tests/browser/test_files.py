"""Files of a chat: those that go along with a message, and those that were made."""

from playwright.async_api import FilePayload, Locator, Page, expect

from tests.browser.harness import MARKS, Visits, axe
from tests.browser.talking import answers, message, opened, say
from tests.support.model_server import ToolUse, Turn
from tests.support.node import World

pytestmark = MARKS

PIXEL: FilePayload = {
    "name": "pixel.png",
    "mimeType": "image/png",
    "buffer": bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    ),
}
NOTE: FilePayload = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"Buy milk."}


async def attach(page: Page, *files: FilePayload) -> None:
    await page.get_by_label("Attach files").first.set_input_files(list(files))


async def test_a_picture_goes_along_and_a_command_is_completed(world: World, page: Page) -> None:
    answers(world.model, "What is this", Turn(text="A very small picture."))
    await opened(world, page, "Pictures")
    await attach(page, PIXEL)
    await expect(page.get_by_text("Say in a few words what to do with it.")).to_be_visible()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await expect(page.get_by_role("button", name="Remove pixel.png")).to_be_visible()
    await message(page).press_sequentially("/com")
    await expect(page.get_by_role("option", name="/compact")).to_be_visible()
    assert await axe(page) == []
    await message(page).press("Tab")
    await expect(message(page)).to_have_value("/compact ")
    await expect(page.get_by_text("Say in a few words what to do with it.")).to_have_count(0)
    await say(page, "What is this")
    await expect(page.get_by_text("A very small picture.")).to_be_visible()
    said = page.get_by_role("article", name="You")
    await expect(page.get_by_role("button", name="Remove pixel.png")).to_have_count(0)
    await is_shown(said.get_by_role("img", name="pixel.png"))
    await page.reload()
    await is_shown(said.get_by_role("img", name="pixel.png"))
    first = page.url
    await said.get_by_role("button", name="Continue from here in a copy").click()
    await expect(page).not_to_have_url(first)
    await is_shown(said.get_by_role("img", name="pixel.png"))


async def is_shown(picture: Locator) -> None:
    """Not its name alone: it was read, and has a size."""
    await expect(picture).to_have_js_property("naturalWidth", 1)


async def test_a_message_that_is_edited_keeps_its_files_in_the_copy(
    world: World, page: Page
) -> None:
    answers(world.model, "What are these", Turn(text="A picture and a note."))
    answers(world.model, "What is the picture", Turn(text="One pixel."))
    await opened(world, page, "Edited with files")
    await attach(page, PIXEL, NOTE)
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    await say(page, "What are these")
    await expect(page.get_by_text("A picture and a note.")).to_be_visible()
    await message(page).fill("A draft")
    await attach(page, {**NOTE, "name": "of the draft.txt"})
    said = page.get_by_role("article", name="You")
    await said.hover()
    await said.get_by_role("button", name="Edit and send again").click()
    await expect(page.get_by_role("button", name="Remove pixel.png")).to_be_visible()
    await expect(page.get_by_role("button", name="Remove note.txt")).to_be_visible()
    await expect(page.get_by_role("button", name="Remove of the draft.txt")).to_have_count(0)
    assert await axe(page) == []
    await page.get_by_role("button", name="Do not edit").click()
    await expect(message(page)).to_have_value("A draft")
    await expect(page.get_by_role("button", name="Remove of the draft.txt")).to_be_visible()
    await expect(page.get_by_role("button", name="Remove pixel.png")).to_have_count(0)
    await said.hover()
    await said.get_by_role("button", name="Edit and send again").click()
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    first = page.url
    await say(page, "What is the picture")
    await expect(page.get_by_text("One pixel.")).to_be_visible()
    await expect(page).not_to_have_url(first)
    await is_shown(said.get_by_role("img", name="pixel.png"))
    await expect(said.get_by_role("listitem")).to_contain_text(["", "note.txt"])


async def test_files_of_a_draft_stay_while_another_chat_is_open_and_over_a_reload(
    world: World, visits: Visits
) -> None:
    answers(world.model, "Look at both", Turn(text="Both seen."))
    page = await visits.user(None)
    await opened(world, page, "Left")
    first = await opened(world, page, "With a draft")
    await attach(page, PIXEL, NOTE)
    await message(page).fill("Look at both")
    picture = page.get_by_role("button", name="Remove pixel.png")
    await expect(picture).to_be_visible()
    chats = page.get_by_role("complementary", name="Chats")
    await chats.get_by_role("link", name="Left").click()
    await expect(page.get_by_role("heading", name="Left")).to_be_visible()
    await expect(picture).to_have_count(0)
    await chats.get_by_role("link", name="With a draft").click()
    await expect(picture).to_be_visible()
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    await page.reload()
    await expect(picture).to_be_visible()
    # Refused, the message and its files come back to be changed.
    visits.watch.expect("ERR_FAILED POST")
    await page.route("**/messages", lambda route: route.abort())
    await message(page).press("Enter")
    await expect(page.get_by_text("Not sent.")).to_be_visible()
    await expect(picture).to_have_count(0)
    await page.get_by_role("button", name="Edit", exact=True).click()
    await expect(picture).to_be_visible()
    await page.unroute("**/messages")
    await message(page).press("Enter")
    await expect(page.get_by_text("Both seen.")).to_be_visible()
    said = page.get_by_role("article", name="You")
    await is_shown(said.get_by_role("img", name="pixel.png"))
    await expect(picture).to_have_count(0)
    await page.reload()
    await expect(page.get_by_text("Both seen.")).to_be_visible()
    await expect(picture).to_have_count(0)
    assert first in page.url


async def test_a_file_that_waited_too_long_is_uploaded_again_or_asked_for(
    world: World, page: Page
) -> None:
    answers(world.model, "Late", Turn(text="Better late."))
    await opened(world, page, "Slow writer")
    uploads: list[str] = []
    page.on("request", lambda one: uploads.append(one.url) if "/uploads" in one.url else None)
    await attach(page, NOTE)
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    later = int(await page.evaluate("() => Date.now()")) + 11 * 60_000
    await page.clock.set_fixed_time(later)
    await say(page, "Late")
    await expect(page.get_by_text("Better late.")).to_be_visible()
    assert len(uploads) == 2
    await attach(page, NOTE)
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    await message(page).fill("Later still")
    await page.clock.set_fixed_time(later + 11 * 60_000)
    await page.reload()
    await expect(page.get_by_text("no longer there, attach it again")).to_be_visible()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await page.get_by_role("button", name="Remove note.txt").click()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()


_GIVE = """(field, kind) => {
  const data = new DataTransfer();
  data.items.add(new File(["x"], `${kind}.txt`, {type: "text/plain"}));
  const how = {bubbles: true, cancelable: true};
  field.dispatchEvent(
    kind === "paste"
      ? new ClipboardEvent(kind, {...how, clipboardData: data})
      : new DragEvent(kind, {...how, dataTransfer: data}),
  );
}"""


async def test_files_are_pasted_and_dropped_and_each_can_be_taken_out(
    world: World, page: Page
) -> None:
    answers(world.model, "Read this", Turn(text="An x."))
    await opened(world, page, "Papers")
    for kind in ("paste", "drop"):
        await message(page).evaluate(_GIVE, kind)
        await expect(page.get_by_role("button", name=f"Remove {kind}.txt")).to_be_visible()
    await page.get_by_role("button", name="Remove paste.txt").click()
    await expect(page.get_by_role("status", name="Uploading")).to_have_count(0)
    await say(page, "Read this")
    said = page.get_by_role("article", name="You")
    await expect(said.get_by_role("listitem")).to_have_text(["drop.txt"])
    await expect(page.get_by_text("An x.")).to_be_visible()


async def test_a_picture_that_cannot_be_shown_says_why(world: World, visits: Visits) -> None:
    wrong = ToolUse(name="write_file", arguments={"path": "wrong.png", "content": "no picture"})
    gone = ToolUse(name="write_file", arguments={"path": "gone.png", "content": "no picture"})
    answers(world.model, "Draw it", Turn(tool_calls=[wrong, gone]), Turn(text="Drawn."))
    page = await visits.user(None)
    await opened(world, page, "Drawing")
    await say(page, "Draw it")
    await expect(page.get_by_text("Drawn.")).to_be_visible()
    await page.get_by_role("button", name="Files, changes and usage").click()
    side = page.get_by_role("complementary", name="Files, changes and usage")
    await side.get_by_role("tab", name="Files").click()
    await side.get_by_role("button", name="wrong.png", exact=True).click()
    shown = page.get_by_role("dialog")
    await expect(shown.get_by_role("alert")).to_contain_text("cannot be shown")
    await expect(shown.get_by_role("link", name="Download")).to_be_visible()
    assert await axe(page) == []
    await shown.get_by_role("button", name="Close").click()
    (world.node.workspace / "gone.png").unlink()
    visits.watch.expect("404 GET .*/files/gone.png")
    await side.get_by_role("button", name="gone.png", exact=True).click()
    await expect(shown.get_by_role("alert")).to_contain_text("does not exist")
