"""The first minutes of a newcomer: a machine by the command shown, a first answer, a key."""

import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe
from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.model_server import ModelServer
from tests.support.node import World
from tests.support.peer import Peer
from tests.support.program import Program, plain_environment
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import ScriptedAgent

pytestmark = MARKS
REFUSED = 4001  # of the Semibot wire
PLAIN_HTTP = """() => {
  delete Navigator.prototype.clipboard;
  addEventListener("copy", () => { window.copied = document.activeElement.value; });
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def newcomer(world: World) -> TestUser:
    """With a machine and no key yet. The machine has loaded what its first session waits for."""
    user = world.user
    for provider in ("openai", "anthropic"):
        await user.ok("DELETE", f"/users/{user.id}/credentials/{provider}")
    session_id = await user.session()
    await user.say(session_id, "help")
    await user.until_turns(session_id, "completed")
    await user.ok("DELETE", f"/sessions/{session_id}?erase=true")
    return user


@pytest_asyncio.fixture(loop_scope="module")
async def computer(tmp_path: Path) -> AsyncIterator[Program]:
    """Somebody's computer: what is typed there runs until the end."""
    program = Program(tmp_path / "home")
    program.home.mkdir()
    yield program
    await program.stop()


async def type_at(computer: Program, command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**plain_environment(), "HOME": str(computer.home), "PATH": path}
    await computer.run("bash", "-c", command, env=env)


async def test_a_newcomer_gets_from_the_login_link_to_a_first_answer(
    visits: Visits, newcomer: TestUser
) -> None:
    page = await visits.user(as_user=newcomer)
    await expect(page.get_by_role("heading", name="Welcome to Trunkline")).to_be_visible()
    await expect(page.get_by_text("Built in", exact=True)).to_be_visible()
    await expect(page.get_by_text("with the built-in model")).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("button", name="Start a first chat").click()
    await page.wait_for_url("**/chat/*")
    await expect(page.get_by_text("I am the built-in demo model of Trunkline")).to_be_visible()
    await page.get_by_role("textbox", name="Message").fill("write notes.txt: hello")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    assert await axe(page) == []


async def test_a_machine_is_added_by_the_command_that_is_shown(
    visits: Visits, newcomer: TestUser, computer: Program
) -> None:
    page = await visits.user("/welcome", as_user=newcomer)
    await page.get_by_role("link", name="Add a machine").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name="A computer").check()
    await dialog.get_by_label("Name", exact=True).fill("my desk")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Next").click()
    shown = dialog.get_by_role("region", name="Run this on the machine")
    await expect(dialog.get_by_text("Waiting for my desk to connect").last).to_be_visible()
    assert await axe(page) == []
    await page.evaluate(PLAIN_HTTP)
    await dialog.get_by_role("button", name=re.compile("^Copy")).first.click()
    assert await page.evaluate("() => window.copied") == await shown.inner_text()
    assert "trunkline node --join" in await shown.inner_text()
    await type_at(computer, await shown.inner_text())
    await expect(dialog.get_by_text("my desk is connected")).to_be_visible()
    await dialog.get_by_role("button", name="Close", exact=True).last.click()
    await expect(page.get_by_role("listitem").filter(has_text="my desk")).to_contain_text("Online")


async def wanted(page: Page, kind: str, name: str) -> Locator:
    """The wizard, as soon as it waits for a machine of that kind."""
    await page.get_by_role("button", name="Add a machine").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name=kind).check()
    await dialog.get_by_role("textbox").fill(name)
    await dialog.get_by_role("button", name="Next").click()
    await expect(dialog.get_by_text(f"Waiting for {name} to connect").last).to_be_visible()
    return dialog


async def has_come(dialog: Locator, name: str) -> None:
    await expect(dialog.get_by_text(f"{name} is connected")).to_be_visible()
    await dialog.get_by_role("button", name="Close", exact=True).last.click()


def variables(text: str) -> dict[str, str]:
    """Of what is shown to be set in a shell."""
    return dict(word.split("=", 1) for word in shlex.split(text) if "=" in word)


async def test_each_other_kind_of_machine_connects_with_what_the_wizard_shows(
    visits: Visits, world: World
) -> None:
    page = await visits.user("/machines")
    dialog = await wanted(page, "A phone or device (AGP)", "pocket")
    await expect(dialog.get_by_role("img", name="Code with the address")).to_be_visible()
    address = await dialog.get_by_role("region", name="Where the device connects").inner_text()
    async with Peer(address):
        await has_come(dialog, "pocket")
    dialog = await wanted(page, "A Yeaft agent", "builder")
    command = await dialog.get_by_role("region", name="Run this on the computer").inner_text()
    assert command.endswith(" yeaft-agent")
    told = variables(command)
    url, name = told["SERVER_URL"], told["AGENT_NAME"]
    async with ScriptedAgent(url, name, told["AGENT_SECRET"], path="", name=name):
        await has_come(dialog, "builder")
    dialog = await wanted(page, "This server's own host", "in house")
    await has_come(dialog, "in house")
    dialog = await wanted(page, "Another Semibot daemon", "own make")
    shown = dialog.get_by_role("region", name="Give the daemon this environment")
    given = variables(await shown.inner_text())
    daemon = [given[key] for key in ("CONTROL_PLANE_WS", "USER_ID", "VM_TOKEN", "VM_TICKET")]
    async with ScriptedVm(*daemon) as line:
        await has_come(dialog, "own make")
        await _do(page, "own make", "Revoke access")
        await page.get_by_role("dialog").get_by_role("button", name="Revoke access").click()
        assert await line.closed() == REFUSED
    row = page.get_by_role("listitem").filter(has_text="own make")
    await expect(row).to_contain_text("Offline")
    back = await ScriptedVm(*daemon).connect()
    await back.send({"type": "auth", "token": given["VM_TOKEN"]})
    assert await back.closed() == REFUSED
    await back.finish()


async def test_a_key_is_tried_before_it_is_kept(
    visits: Visits, newcomer: TestUser, model: ModelServer
) -> None:
    model.models = ["llama3.2", "qwen3"]
    page = await visits.user("/models#add", as_user=newcomer)
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Provider", exact=True).select_option("other")
    await dialog.get_by_label("Short name").fill("ollama")
    await dialog.get_by_label("Address").fill(model.url)  # without its /v1
    await dialog.get_by_label("API key").fill("wrong")
    await dialog.get_by_role("button", name="Test").click()
    await expect(dialog.get_by_text("The key was refused")).to_be_visible()
    assert await axe(page) == []
    await dialog.get_by_label("API key").fill("right")
    await dialog.get_by_role("button", name="Test").click()
    await expect(dialog.get_by_text("It works: 2 models")).to_be_visible()
    await dialog.get_by_label("Default model").select_option("llama3.2")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Save", exact=True).click()
    await expect(dialog).to_have_count(0)
    row = page.get_by_role("listitem").filter(has_text="ollama")
    await expect(row).to_contain_text(f"{model.url}/v1")
    await expect(page.get_by_text("You have chosen it")).to_be_visible()
    kept = await newcomer.ok("GET", f"/users/{newcomer.id}/credentials/ollama")
    assert (kept["base_url"], kept["default_model"]) == (f"{model.url}/v1", "llama3.2")
    assert await axe(page) == []
    await row.get_by_role("button", name="What to do with ollama").click()
    await page.get_by_role("menuitem", name="Remove", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No key yet")).to_be_visible()


async def test_a_machine_is_drained_renamed_and_given_up_with_a_word_before(
    visits: Visits, world: World
) -> None:
    device = await world.user.ok("POST", f"/users/{world.user.id}/devices", {"guid": "phone-1"})
    page = await visits.user(f"/machines/{device['machine_id']}", **PHONE)
    await expect(page.get_by_text("Not connected yet")).to_be_visible()
    await _do(page, "phone-1", "Drain")
    await page.get_by_role("dialog").get_by_role("button", name="Drain").click()
    await expect(page.get_by_text("Draining")).to_be_visible()
    assert await axe(page) == []
    await _do(page, "phone-1", "Take new sessions again")
    await expect(page.get_by_text("Draining")).to_have_count(0)
    await _do(page, "phone-1", "Rename")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("my phone")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="my phone")).to_be_visible()
    await _do(page, "my phone", "New credentials")
    await dialog.get_by_role("button", name="New credentials").click()
    await expect(dialog.get_by_role("img", name="Code with the address")).to_be_visible()
    address = await dialog.get_by_role("region", name="Where the device connects").inner_text()
    assert "guid=phone-1" in address
    assert device["token"] not in address
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Done").click()
    await _do(page, "my phone", "Give up")
    await page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    await page.wait_for_url("**/machines")
    await expect(page.get_by_role("link", name="my phone")).to_have_count(0)
    assert await axe(page) == []


async def test_a_session_is_moved_to_another_machine(visits: Visits, world: World) -> None:
    vm = await world.user.vm(name="a scripted one")
    session_id = await world.user.session(machine_id=world.node.machine_id, title="a long walk")
    page = await visits.user(f"/machines/{world.node.machine_id}")
    await expect(page.get_by_text("semigraph").first).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("button", name="Move “a long walk”").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Move to")).to_be_visible()
    await dialog.get_by_label("Move to").select_option(label="a scripted one")
    await dialog.get_by_role("button", name="Move", exact=True).click()
    await expect(page.get_by_text("Moved to a scripted one")).to_be_visible()
    await eventually(
        lambda: world.user.ok("GET", f"/sessions/{session_id}"),
        lambda session: session["machine_id"] != world.node.machine_id,
    )
    await vm.leave()


async def _do(page: Page, name: str, what: str) -> None:
    await page.get_by_role("button", name=f"What to do with {name}").click()
    await page.get_by_role("menuitem", name=what, exact=True).click()
