"""Conversations that a machine's user began in the terminal: listed, and gone on with from here."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support import foreign_files
from tests.support.control import ControlProcess
from tests.support.model_server import ModelServer
from tests.support.node import World
from tests.support.programs import put_adapter, put_program
from trunkline.execution.home import Home

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("adopt")
    own, project = folder / "own", folder / "projects" / "site"
    project.mkdir(parents=True)
    foreign_files.claude_code(own, project)
    foreign_files.codex(own, project)
    foreign_files.opencode(own, project)
    outside = folder / "private"
    outside.mkdir()
    foreign_files.claude_code(own, outside, "22222222-2222-4222-8222-222222222222")
    for name in ("claude", "opencode"):
        put_program(folder / "bin", name, "echo 2.1.0")
    put_adapter(Home(folder / "home").programs, "codex")
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    roots = str(folder / "projects")
    env = {"HOME": str(own), "PATH": path, "TRUNKLINE_NODE_ROOTS": roots}
    async with (
        ControlProcess(folder / "data") as control,
        ModelServer() as model,
        World(control, model, folder / "home", env) as world,
    ):
        yield world


async def listed(world: World, **query: Any) -> list[Json]:
    wanted = "&".join(f"{name}={value}" for name, value in query.items())
    path = f"/machines/{world.node.machine_id}/foreign-sessions?{wanted}"
    page = await world.user.ok("GET", path)
    items: list[Json] = page["items"]
    return items


def adopting(world: World, runtime: str, foreign_id: str) -> Json:
    return {"machine_id": world.node.machine_id, "adopt": {"runtime": runtime, "id": foreign_id}}


async def test_what_the_user_began_below_a_root_is_listed(world: World) -> None:
    found = {one["preset"] or one["runtime"]: one for one in await listed(world)}
    assert set(found) == {"claude-code", "codex", "opencode"}
    one = found["claude-code"]
    assert one["title"] == foreign_files.STARTED
    assert one["folder"].endswith("/projects/site")
    assert one["command"] == f"claude --resume {foreign_files.CLAUDE_ID}"
    assert [one["id"] for one in await listed(world, runtime="codex")] == [foreign_files.CODEX_ID]
    assert await listed(world, folder="/nowhere") == []


async def test_pages_of_the_list_go_through_all_of_it(world: World) -> None:
    path = f"/machines/{world.node.machine_id}/foreign-sessions?limit=1"
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await world.user.ok("GET", path + (f"&cursor={cursor}" if cursor else ""))
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen)) == 3
    status, error = await world.user.call("GET", path + "&cursor=nonsense")
    assert (status, error["error"]["code"]) == (400, "INVALID_REQUEST")


async def test_one_is_adopted_with_its_history_once(world: World) -> None:
    body = adopting(world, "claude-code", foreign_files.CLAUDE_ID)
    both = await asyncio.gather(*(world.user.ok("POST", "/sessions", body) for _ in range(2)))
    assert both[0]["id"] == both[1]["id"]
    session = both[0]
    assert session["runtime_type"] == "claude-code"
    assert session["title"] == foreign_files.STARTED
    assert session["machine_id"] == world.node.machine_id
    assert session["agent_config"]["workspace"].endswith("/projects/site")
    page = await world.user.ok("GET", f"/sessions/{session['id']}/events")
    events = [one["event"] for one in page["items"]]
    kinds = [event["type"] for event in events if event.get("imported")]
    assert kinds == [
        *("user_message", "text_chunk", "execution_complete"),
        *("user_message", "tool_call_start", "tool_call_complete", "text_chunk"),
        "execution_complete",
        "session_status",
    ]
    assert events[7]["content"] == foreign_files.ANSWER
    assert events[8]["resume"]["id"] == foreign_files.CLAUDE_ID
    snapshot = await world.user.ok("GET", f"/sessions/{session['id']}/snapshot")
    assert [one["content"] for one in snapshot["messages"]] == [
        foreign_files.STARTED,
        "Hello from the scripted model.",
        foreign_files.WENT_ON,
        foreign_files.ANSWER,
    ]
    assert {turn["state"] for turn in snapshot["turns"]} == {"completed"}
    again = await world.user.ok("POST", "/sessions", body)
    assert again["id"] == session["id"]
    [one] = await listed(world, runtime="claude-code")
    assert one["session_id"] == session["id"]


async def test_one_that_was_closed_can_be_adopted_again(world: World) -> None:
    body = adopting(world, "codex", foreign_files.CODEX_ID)
    first = await world.user.ok("POST", "/sessions", body)
    await world.user.ok("DELETE", f"/sessions/{first['id']}")
    second = await world.user.ok("POST", "/sessions", body)
    assert first["id"] != second["id"]
    assert second["agent_config"]["acp"] == {"preset": "codex"}


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"id": "11111111-1111-4111-8111-111111111111"}, 404, "FOREIGN_SESSION_NOT_FOUND"),
        ({"id": "22222222-2222-4222-8222-222222222222"}, 404, "FOREIGN_SESSION_NOT_FOUND"),
        ({"id": "../../etc/passwd"}, 404, "FOREIGN_SESSION_NOT_FOUND"),
        ({"runtime": "acp"}, 400, "INVALID_REQUEST"),
        ({"runtime": "semigraph"}, 400, "INVALID_REQUEST"),
        ({"id": ""}, 400, "INVALID_REQUEST"),
    ],
)
async def test_what_cannot_be_adopted_is_refused_and_leaves_nothing(
    world: World, change: Json, status: int, code: str
) -> None:
    before = await world.user.ok("GET", "/sessions")
    body = adopting(world, "claude-code", foreign_files.CLAUDE_ID)
    body["adopt"] |= change
    got, error = await world.user.call("POST", "/sessions", body)
    assert (got, error["error"]["code"]) == (status, code)
    assert await world.user.ok("GET", "/sessions") == before


async def test_nobody_else_sees_them(world: World) -> None:
    other = await world.control.user("eve")
    path = f"/machines/{world.node.machine_id}/foreign-sessions"
    status, error = await other.call("GET", path)
    assert (status, error["error"]["code"]) == (404, "MACHINE_NOT_FOUND")
    status, _ = await other.call(
        "POST", "/sessions", adopting(world, "claude-code", foreign_files.CLAUDE_ID)
    )
    assert status == 404


async def test_whoever_acts_for_the_owner_is_in_the_audit_log(world: World) -> None:
    path = f"/machines/{world.node.machine_id}/foreign-sessions"
    await world.control.ok("GET", path)
    entries = await world.control.ok("GET", "/audit?limit=50")
    [entry] = [one for one in entries["items"] if one["event"] == "machine.foreign_sessions_read"]
    assert entry["details"]["owner"] == world.user.id


async def test_a_machine_that_is_away_cannot_be_asked(world: World) -> None:
    made = await world.user.schedule()
    status, error = await world.user.call("GET", f"/machines/{made['vm_id']}/foreign-sessions")
    assert (status, error["error"]["code"]) == (503, "MACHINE_OFFLINE")
