"""What agents work with, on the page: skills, memories, MCP servers, and the agents themselves."""

import io
import zipfile

from playwright.async_api import FilePayload, expect

from tests.browser.harness import MARKS, PHONE, Visits, axe
from tests.support.eventually import eventually
from tests.support.mcp_server import running_server
from tests.support.model_server import Turn
from tests.support.node import MODEL, World

pytestmark = MARKS


def package(version: str, text: str) -> bytes:
    head = f"---\nname: greet\ndescription: Says hello\nversion: {version}\n"
    needs = "requires: {bins: [jq], env: [GREETING]}\n---\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("SKILL.md", f"{head}{needs}{text}\n")
        archive.writestr("scripts/run.py", "print('hello')\n")
        archive.writestr("logo.png", b"\x89PNG\xff")
    return buffer.getvalue()


def upload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/zip", "buffer": content}


async def test_a_skill_is_uploaded_read_compared_and_removed(visits: Visits) -> None:
    visits.watch.expect("400 POST /api/v1/skills")
    page = await visits.user("/skills")
    await expect(page.get_by_text("No skills yet")).to_be_visible()
    chooser = page.get_by_label("Upload a zip")
    await chooser.set_input_files(upload("x.zip", b"not a zip"))
    await expect(page.get_by_role("alert")).to_contain_text("the skill package is refused")
    for version in ("1", "2"):
        await chooser.set_input_files(upload("greet.zip", package(version, f"Say hi {version}.")))
        await expect(page.get_by_text(f"greet {version} is there")).to_be_visible()
    await expect(page.get_by_text("needs jq, GREETING")).to_be_visible()
    assert await axe(page) == []

    await page.get_by_role("link", name="greet").click()
    await expect(page.get_by_text("Say hi 2.")).to_be_visible()
    await page.get_by_role("button", name="scripts/run.py").click()
    await expect(page.get_by_text("print('hello')")).to_be_visible()
    await page.get_by_role("button", name="logo.png").click()
    await expect(page.get_by_text("This file is not text")).to_be_visible()
    await page.get_by_role("tab", name="What changed").click()
    await expect(page.locator("ins")).to_have_text(["version: 2", "Say hi 2."])
    assert await axe(page) == []
    await page.get_by_label("Version", exact=True).select_option("1")
    await expect(page.get_by_text("Say hi 1.")).to_be_visible()

    await page.get_by_role("button", name="What to do with this skill").click()
    await page.get_by_role("menuitem", name="Remove all versions").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No skills yet")).to_be_visible()


async def propose(world: World, *skills: dict[str, str]) -> None:
    """As a machine does."""
    async with await world.user.vm(name="proposer") as vm:
        machines = (await world.user.ok("GET", "/machines"))["items"]
        (machine_id,) = [one["id"] for one in machines if one["name"] == "proposer"]
        session_id = await world.user.session(machine_id=machine_id)
        report = {"type": "fire_and_forget", "session_id": session_id, "method": "evolution_submit"}
        for skill in skills:
            await vm.send({**report, "params": {**skill, "quality_score": 0.9}})

        async def are_there() -> bool:
            return len((await world.user.ok("GET", "/evolutions"))["items"]) == len(skills)

        await eventually(are_there)


async def test_a_proposed_skill_shows_what_it_changes_and_is_approved_or_declined(
    visits: Visits, world: World
) -> None:
    page = await visits.user("/skills")
    await page.get_by_role("tab", name="Proposed by agents").click()
    await expect(page.get_by_text("Nothing is proposed")).to_be_visible()
    await propose(
        world,
        {"name": "Tidy", "description": "Tidies", "skill_md": "# Tidy"},
        {"name": "Wipe", "description": "Wipes", "skill_md": "# Wipe"},
    )
    await page.reload()
    await page.get_by_role("tab", name="Proposed by agents").click()
    for name, decision in (("Tidy", "Approve"), ("Wipe", "Decline")):
        proposal = page.get_by_role("listitem").filter(has_text=name)
        await proposal.get_by_role("button", name="Show what it changes").click()
        await expect(proposal.locator("ins").last).to_have_text(f"# {name}")
        assert await axe(page) == []
        await proposal.get_by_role("button", name=decision).click()
        await expect(proposal).to_have_count(0)
    await expect(page.get_by_text("Nothing is proposed")).to_be_visible()
    await page.get_by_label("State").select_option("rejected")
    await expect(page.get_by_role("listitem").filter(has_text="Wipe")).to_contain_text("Declined")
    (skill,) = (await world.user.ok("GET", "/skills"))["items"]
    assert (skill["name"], skill["source"]) == ("Tidy", "evolution")


async def test_a_memory_is_added_found_changed_and_forgotten(visits: Visits) -> None:
    page = await visits.user("/memories", **PHONE)
    await expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    await page.get_by_role("button", name="Add a memory").click()
    await page.get_by_label("What to remember").fill("The deadline is on Monday")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The deadline is on Monday")).to_be_visible()

    await page.get_by_role("button", name="What to do with this memory").click()
    await page.get_by_role("menuitem", name="Change").click()
    await page.get_by_label("What to remember").fill("The deadline is on Friday")
    await page.get_by_label("For the whole organisation").check()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    await page.get_by_role("searchbox").fill("deadline")
    found = page.get_by_role("listitem").filter(has_text="The deadline is on Friday")
    await expect(found).to_contain_text("shared")
    assert await axe(page) == []

    await found.get_by_role("button", name="What to do with this memory").click()
    await page.get_by_role("menuitem", name="Forget").click()
    await page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    await expect(page.get_by_text("Nothing fits")).to_be_visible()


async def test_an_mcp_server_is_tested_and_shows_its_tools(visits: Visits) -> None:
    page = await visits.user("/mcp")
    await expect(page.get_by_text("No MCP servers yet")).to_be_visible()
    async with running_server() as server:
        await page.get_by_role("button", name="Add a server").click()
        await page.get_by_label("Name").fill("calc")
        await page.get_by_label("Address").fill(server.url)
        await page.get_by_role("button", name="Add a header").click()
        await page.get_by_label("Header 1").fill("X-Key")
        await page.get_by_label("Value 1").fill("s3cret")
        await page.get_by_role("button", name="Save and test").click()
        await expect(page.get_by_text("It answers, with 5 tools")).to_be_visible()
        await expect(page.locator("code", has_text="hang")).to_be_visible()
        assert server.requests[-1]["x-key"] == "s3cret"
        assert await axe(page) == []
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_role("alert")).to_contain_text("It does not answer")
    await page.get_by_role("button", name="What to do with calc").click()
    await page.get_by_role("menuitem", name="Switch off").click()
    await expect(page.get_by_text("off", exact=True)).to_be_visible()
    await page.get_by_role("button", name="What to do with calc").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No MCP servers yet")).to_be_visible()


async def test_an_agent_is_made_and_tried_beside_its_form(visits: Visits, world: World) -> None:
    page = await visits.user("/agents")
    await expect(page.get_by_text("No agents yet")).to_be_visible()
    await page.get_by_role("link", name="New agent").click()
    await page.get_by_label("Name", exact=True).fill("Poet")
    await page.get_by_label("Prompt").fill("You answer in rhymes.")
    await page.get_by_label("Model", exact=True).fill(MODEL)
    await page.get_by_label("Mode", exact=True).select_option("plan")
    assert await axe(page) == []
    world.model.when(lambda request: request.prompt == "Roses", Turn(text="Violets are blue"))
    await page.get_by_role("button", name="Save and try").click()
    await page.get_by_label("Message", exact=True).fill("Roses")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Violets are blue")).to_be_visible()
    assert "You answer in rhymes." in str(world.model.requests[-1].system)
    (agent,) = (await world.user.ok("GET", "/agents"))["items"]
    assert (agent["name"], agent["permission_mode"], agent["tools"]) == ("Poet", "plan", None)

    await page.get_by_label("Rule", exact=True).fill("bash(rm:*)")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.locator("code", has_text="bash(rm:*)").first).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("link", name="Agents").first.click()
    await page.get_by_role("button", name="What to do with Poet").click()
    await page.get_by_role("menuitem", name="Duplicate").click()
    await expect(page.get_by_role("heading", name="Poet (copy)")).to_be_visible()
