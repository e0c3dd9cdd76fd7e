"""Sessions in the user's own folders: chosen, refused, in worktrees; their files fetched."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.support.control import Control
from tests.support.eventually import eventually
from tests.support.git import committed, git
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import Talk, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    site = folder / "site"
    site.mkdir()
    (site / "page.txt").write_text("first\nsecond\nthird\n")
    committed(site)
    (folder / "plain").mkdir()
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    tmp_path_factory: pytest.TempPathFactory, control: Control, projects: Path
) -> AsyncIterator[World]:
    env = {
        "TRUNKLINE_NODE_ROOTS": str(projects),
        "TRUNKLINE_NODE_WORKSPACE": str(projects / "plain"),
    }
    home = tmp_path_factory.mktemp("folders") / "home"
    async with ModelServer() as model, World(control, model, home, env) as world:
        yield world


def bash(command: str) -> Turn:
    return Turn(tool_calls=[ToolUse(name="bash", arguments={"command": command})])


def write(path: str, content: str) -> Turn:
    arguments = {"path": path, "content": content}
    return Turn(tool_calls=[ToolUse(name="write_file", arguments=arguments)])


async def did(talk: Talk, world: World, *steps: Turn) -> list[Json]:
    """What the tools of one turn said."""
    world.model.script(*steps, Turn(text="Done."))
    seen = len(talk.events("tool_call_complete"))
    end = await talk.ask("Do it.")
    assert end["type"] == "execution_complete", end
    return talk.events("tool_call_complete")[seen:]


async def test_the_session_wins_over_its_agent_and_that_over_the_machine(
    world: World, projects: Path
) -> None:
    agent = {"name": "a", "model": "gpt-scripted", "workspace": str(projects / "site")}
    agent_id = (await world.user.ok("POST", "/agents", {**agent, "confirm": "never"}))["id"]
    for fields, folder in (
        ({}, "plain"),
        ({"agent_id": agent_id}, "site"),
        ({"agent_id": agent_id, "workspace": str(projects)}, ""),
    ):
        async with await world.session(**fields) as talk:
            [done] = await did(talk, world, bash("pwd"))
        assert done["result"].strip() == str(projects / folder).rstrip("/")


async def test_a_folder_that_the_owner_does_not_allow_is_refused(
    world: World, tmp_path: Path
) -> None:
    for folder in (tmp_path, world.node.home / ".semibot" / "sessions"):
        async with await world.session(workspace=str(folder)) as talk:
            end = await talk.ask("Hello?")
        assert end["code"] == "WORKSPACE_REFUSED"
        assert "--root" in end["error"]


async def test_two_agents_work_on_one_repository(world: World, projects: Path) -> None:
    site = projects / "site"
    chosen: Json = {"workspace": str(site), "worktree": True}
    async with await world.session(**chosen) as one, await world.session(**chosen) as two:
        await did(one, world, write("page.txt", "FIRST\nsecond\nthird\n"), bash("git add -A"))
        await did(two, world, write("page.txt", "first\nsecond\nTHIRD\n"), write("new.txt", "n"))
        assert (site / "page.txt").read_text() == "first\nsecond\nthird\n"
        told = await world.user.ok("GET", f"/sessions/{two.id}/diff")
        assert {(f["path"], f["change"]) for f in told["files"]} == {
            ("page.txt", "modified"),
            ("new.txt", "created"),
        }
        assert "-third\n+THIRD" in told["diff"]
        for talk in (one, two):
            await world.user.ok("POST", f"/sessions/{talk.id}/apply")
    assert (site / "page.txt").read_text() == "FIRST\nsecond\nTHIRD\n"
    assert (site / "new.txt").read_text() == "n"
    assert git(site, "log", "--oneline").count("\n") == 1
    git(site, "reset", "-q", "--hard")
    (site / "new.txt").unlink()


async def test_unapplied_work_outlives_its_session_until_it_is_discarded(
    world: World, projects: Path
) -> None:
    site = projects / "site"
    async with await world.session(workspace=str(site), worktree=True) as talk:
        await did(talk, world, write("kept.txt", "worth keeping"))
        await world.user.ok("DELETE", f"/sessions/{talk.id}")

    async def told() -> Json:
        _, found = await world.user.call("GET", f"/sessions/{talk.id}/diff")
        return dict(found)

    found = await eventually(told, lambda said: "files" in said)
    assert Path(found["folder"], "kept.txt").read_text() == "worth keeping"
    await world.user.ok("POST", f"/sessions/{talk.id}/discard")
    assert not Path(found["folder"]).exists()
    assert found["branch"] not in git(site, "branch")
    status, error = await world.user.call("GET", f"/sessions/{talk.id}/diff")
    assert (status, error["error"]["code"]) == (409, "NO_WORKTREE")


async def test_a_worktree_wants_a_repository(world: World, projects: Path) -> None:
    async with await world.session(workspace=str(projects / "plain"), worktree=True) as talk:
        end = await talk.ask("Hello?")
    assert end["code"] == "WORKSPACE_REFUSED"
    assert "not in a git repository" in end["error"]


async def test_what_a_session_made_can_be_fetched_and_nothing_else(
    world: World, projects: Path
) -> None:
    plain = projects / "plain"
    (plain / "other.txt").write_text("somebody else's")
    page = "<script>alert(1)</script>"
    async with await world.session() as talk:
        await did(talk, world, write("out/page.html", page), write("link.txt", "x"))
        (plain / "link.txt").unlink()
        (plain / "link.txt").symlink_to(world.node.home / ".semibot" / "config.json")
        path = f"/sessions/{talk.id}/files"
        listed = (await world.user.ok("GET", path))["files"]
        assert [(f["path"], f["change"], f["size"]) for f in listed] == [
            ("out/page.html", "created", len(page)),
            ("link.txt", "created", None),
        ]
        headers = {"Authorization": f"Bearer {world.user.token}"}
        url = f"{world.control.url}/api/v1{path}"
        async with aiohttp.ClientSession(headers=headers) as http:
            async with http.get(f"{url}/out/page.html") as got:
                assert (got.status, await got.text()) == (200, page)
                assert got.headers["Content-Type"].startswith("text/html")
                assert got.headers["Content-Disposition"].startswith("attachment")
                assert got.headers["X-Content-Type-Options"] == "nosniff"
                assert "sandbox" in got.headers["Content-Security-Policy"]
            async with http.get(f"{url}/out/page.html?offset=1&length=6") as got:
                assert (got.status, await got.text()) == (206, page[1:7])
                assert got.headers["Content-Range"] == f"bytes 1-6/{len(page)}"
        for name in ("other.txt", "link.txt", "out", "..%2F..%2Fhome%2F.semibot%2Fconfig.json"):
            status, error = await world.user.call("GET", f"{path}/{name}")
            assert (status, error["error"]["code"]) == (404, "FILE_NOT_FOUND"), name
        eve = await world.control.user("eve")
        status, error = await eve.call("GET", path)
        assert (status, error["error"]["code"]) == (404, "SESSION_NOT_FOUND")
