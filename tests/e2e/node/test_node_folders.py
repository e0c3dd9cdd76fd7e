"""Sessions in the user's own folders: chosen, refused, in worktrees; their files fetched."""

import asyncio
import subprocess
import sys
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
from tests.support.program import plain_environment

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
PROGRAM = str(Path(sys.executable).parent / "trunkline")


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


async def test_what_commands_change_is_told_with_its_diff_and_listed(
    world: World, projects: Path
) -> None:
    async with await world.session(workspace=str(projects / "site"), worktree=True) as talk:
        code = {"code": "open('made.txt', 'w').write('by python')"}
        first, _ = await did(
            talk,
            world,
            bash(
                "sed -i s/second/SECOND/ page.txt"
                " && git -c user.name=A -c user.email=a@example.org commit -qam x"
                " && git log --oneline && git config core.pager evil; true"
            ),
            Turn(tool_calls=[ToolUse(name="code_execution", arguments=code)]),
        )
        # It commits, in a fence that lets it write neither configuration nor hooks.
        assert " x\n" in first["result"]
        told = {one["path"]: one for one in talk.events("file_changed")}
        assert told["page.txt"]["change"] == "modified"
        assert "-second\n+SECOND" in told["page.txt"]["diff"]
        assert told["made.txt"]["change"] == "created"
        listed = (await world.user.ok("GET", f"/sessions/{talk.id}/files"))["files"]
        assert {one["path"] for one in listed} == {"page.txt", "made.txt"}
        status, _ = await world.user.call("POST", f"/sessions/{talk.id}/discard")
        assert status == 200
        assert (await world.user.ok("GET", f"/sessions/{talk.id}/diff"))["files"] == []


async def trunkline(world: World, folder: Path, *command: str) -> tuple[int, str]:
    env = plain_environment() | {
        "TRUNKLINE_URL": world.control.url,
        "TRUNKLINE_TOKEN": world.user.token,
    }
    program = await asyncio.create_subprocess_exec(
        *(PROGRAM, *command),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    out, _ = await program.communicate()
    return program.returncode or 0, out.decode()


async def test_a_person_works_in_the_folder_that_they_are_in(
    world: World, projects: Path, tmp_path: Path
) -> None:
    site = projects / "site"
    chat = ("chat", "--machine", world.node.machine_id, "--model", "gpt-scripted", "--cwd", ".")
    world.model.script(Turn(text="Done."))
    code, said = await trunkline(world, site, *chat, "--worktree", "Mend it.")
    assert code == 0, said
    session_id = said.split("session ", 1)[1].split()[0]
    [session] = [
        one for one in (await world.user.ok("GET", "/sessions"))["items"] if one["id"] == session_id
    ]
    assert session["session_config"]["workspace"] == str(site)
    worktree = await world.user.ok("GET", f"/sessions/{session_id}/diff")
    Path(worktree["folder"], "page.txt").write_text("mended\n")
    assert "+mended" in (await trunkline(world, site, "session", "diff", session_id))[1]
    code, said = await trunkline(world, site, "session", "apply", session_id)
    assert (code, (site / "page.txt").read_text()) == (0, "mended\n"), said
    git(site, "checkout", "-q", "page.txt")
    code, said = await trunkline(world, site, "session", "discard", session_id, "--yes")
    assert (code, f"discarded the work on trunkline/{session_id}" in said) == (0, True)
    code, said = await trunkline(world, tmp_path, *chat, "Hello?")
    assert code == 1
    assert "not below a folder that this machine allows" in said
    assert "trunkline up --root FOLDER" in said


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
        fetch = ("session", "files", talk.id, "out/page.html")
        assert (await trunkline(world, plain, *fetch))[1] == page
        eve = await world.control.user("eve")
        status, error = await eve.call("GET", path)
        assert (status, error["error"]["code"]) == (404, "SESSION_NOT_FOUND")
