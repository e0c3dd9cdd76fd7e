"""Persons and groups on the page: made, talked to, each heard by itself or all in one thread."""

import re
from itertools import count

import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import MODEL, World

pytestmark = MARKS


NUMBERS = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def persons(world: World) -> list[str]:
    """The ids of alice and bob, both on the one machine."""
    home = {"model": MODEL, "machine_id": world.node.machine_id}
    return [
        (
            await world.user.ok(
                "POST", "/persons", {"name": name, "prompt": f"I am {name}.", **home}
            )
        )["id"]
        for name in ("alice", "bob")
    ]


@pytest_asyncio.fixture(loop_scope="module")
async def group_id(world: World, persons: list[str]) -> str:
    """Of both; this test's alone."""
    body = {"name": f"team-{next(NUMBERS)}", "person_ids": persons}
    return str((await world.user.ok("POST", "/groups", body))["id"])


async def test_persons_and_groups_are_made_changed_and_removed(visits: Visits) -> None:
    page = await visits.user("/groups")
    await page.get_by_role("button", name="New person").first.click()
    dialog = page.get_by_role("dialog", name="New person")
    await dialog.get_by_label("Name").fill("@小明")
    await dialog.get_by_label("Prompt").fill("You write.")
    await dialog.get_by_label("Asks before").select_option("always")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Create").click()
    persons = page.get_by_role("region", name="Persons")
    await expect(persons.get_by_role("row", name=re.compile("小明"))).to_contain_text("You write.")

    await page.get_by_role("button", name="What can be done with 小明").click()
    await page.get_by_role("menuitem", name="Edit").click()
    edit = page.get_by_role("dialog", name="Edit 小明")
    await edit.get_by_label("Prompt").fill("You edit.")
    await edit.get_by_role("button", name="Save").click()
    await expect(persons.get_by_role("row", name=re.compile("小明"))).to_contain_text("You edit.")

    await page.get_by_role("button", name="New group").first.click()
    made = page.get_by_role("dialog", name="New group")
    await made.get_by_label("Name").fill("writers")
    await made.get_by_label("小明").check()
    await made.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="writers")).to_be_visible()
    await expect(page.get_by_role("list", name="Members")).to_contain_text("小明")
    box = page.get_by_role("textbox", name="Message")
    await expect(box).to_have_attribute("placeholder", re.compile("@ for some of them"))

    await page.goto("/groups")
    await page.get_by_role("button", name="What can be done with writers").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No group yet")).to_be_visible()


async def test_a_name_that_is_taken_is_said_in_the_form(visits: Visits, group_id: str) -> None:
    visits.watch.expect("409 POST /api/v1/persons")
    page = await visits.user("/groups")
    await page.get_by_role("button", name="New person").click()
    dialog = page.get_by_role("dialog", name="New person")
    await dialog.get_by_label("Name").fill("ALICE")
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()


async def say(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")


async def test_everybody_answers_side_by_side_or_in_one_thread(
    visits: Visits, world: World, model: ModelServer, group_id: str
) -> None:
    gate = Gate()
    model.when(lambda request: "I am alice." in request.system, Turn(text="I like tea."))
    model.when(
        lambda request: "I am bob." in request.system, Turn(chunks=["I like ", gate, "milk."])
    )
    page = await visits.user(f"/groups/{group_id}")
    await say(page, "What do you like?")
    await gate.reached.wait()
    members = page.get_by_role("list", name="Members")
    await expect(page.get_by_text("I like tea.")).to_be_visible()
    await expect(members.get_by_role("status", name="is speaking")).to_have_count(1)
    await page.get_by_role("button", name="Side by side").click()
    bob = page.get_by_role("region", name="bob", exact=True)
    await expect(page.get_by_role("region", name="alice", exact=True)).to_contain_text(
        "I like tea."
    )
    await expect(bob).to_contain_text("I like")
    await expect(bob.get_by_role("status", name="is speaking")).to_be_visible()
    gate.open()
    await expect(bob).to_contain_text("I like milk.")
    await expect(page.get_by_role("status", name="is speaking")).to_have_count(0)
    assert await axe(page) == []
    await page.reload()
    await expect(bob).to_contain_text("I like milk.")  # the choice is kept, and so is what was said


async def test_an_at_sign_offers_persons_and_calls_one_alone(
    visits: Visits, model: ModelServer, group_id: str
) -> None:
    model.when(lambda request: "I am bob." in request.system, Turn(text="Here I am."))
    page = await visits.user(f"/groups/{group_id}", **PHONE)
    box = page.get_by_role("textbox", name="Message")
    await box.press_sequentially("Listen, @B")
    await expect(page.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Tab")
    await expect(box).to_have_value("Listen, @bob ")
    await page.reload()
    await expect(box).to_have_value("Listen, @bob ")  # nothing that was written is lost
    await page.get_by_role("button", name="Send").tap()
    await expect(page.get_by_text("Here I am.")).to_be_visible()
    await expect(page.get_by_role("heading", name="bob")).to_be_visible()
    await expect(page.get_by_role("heading", name="alice")).to_have_count(0)


async def test_a_question_of_one_person_is_answered_in_its_place(
    visits: Visits, world: World, model: ModelServer, group_id: str
) -> None:
    asks = ToolUse(name="ask_user", arguments={"question": "Tea or milk?"})
    model.when(
        lambda request: "I am alice." in request.system,
        Turn(tool_calls=[asks]),
        Turn(text="Tea it is."),
    )
    page = await visits.user(f"/groups/{group_id}")
    await say(page, "@alice Choose.")
    card = page.get_by_role("article", name="Question")
    await expect(card).to_contain_text("Tea or milk?")
    assert await axe(page) == []
    await card.get_by_role("textbox").fill("tea")
    await card.get_by_role("textbox").press("Enter")
    await expect(page.get_by_text("Tea it is.")).to_be_visible()
