"""What tools show and change, from a model's call to everybody who reads: the log, a MyAgent page,
a Yeaft page. Every part is a process of its own, fenced as by default."""

import base64
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from mcp.server.mcpserver import Image, MCPServer

from tests.support.control import ControlProcess
from tests.support.documents import notebook, pdf
from tests.support.mcp_server import RunningServer, running_server
from tests.support.model_server import Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.myagent import client_of
from tests.support.node import Talk, World
from tests.support.pictures import picture
from tests.support.yeaft_web import web_of
from trunkline.execution.fence import probe

pytestmark = pytest.mark.asyncio(loop_scope="module")

FOUND = probe.look()
FALLBACK = "claude-haiku-5-5"
MADE, SHOWN = picture(5, 4), picture(6, 2)
PATCH = """\
*** Begin Patch
*** Add File: notes.txt
+one
*** Update File: code.py
@@ def area():
-    return None
+    return 12
*** End Patch"""
CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('reached')"
FETCH = "import urllib.request as u; print(u.urlopen('http://{host}:{port}/', timeout=5).read())"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("tools")
    settings = {
        "rate_limit_per_minute": 0,
        "mcp_allowed_hosts": "127.0.0.1",
        "fallback_model": FALLBACK,
    }
    async with (
        ControlProcess(folder / "data", **settings) as control,
        ModelServer() as model,
        World(control, model, folder / "home") as world,
    ):
        yield world


def call(tool: str, /, **arguments: object) -> ToolUse:
    return ToolUse(name=tool, arguments=dict(arguments))


def python(program: str) -> ToolUse:
    return call("bash", command=f'{sys.executable} -c "{program}"')


def todos(*statuses: str) -> ToolUse:
    names = ("Read it", "Mend it")
    listed = zip(names, statuses, strict=True)
    return call("todo_write", todos=[{"content": one, "status": status} for one, status in listed])


def results_of(talk: Talk) -> list[str]:
    return [str(one["result"]) for one in talk.events("tool_call_complete")]


async def test_a_list_of_what_is_to_do_is_the_plan_on_every_page(world: World) -> None:
    gate = Gate()
    world.model.script(
        Turn(tool_calls=[todos("in_progress", "pending")]),
        Turn(tool_calls=[todos("completed", "in_progress")]),
        Turn(text="Half of it.", gate=gate),
    )
    async with (
        await world.session() as talk,
        client_of(world.user) as page,
        web_of(world.user) as other,
    ):
        await page.reconnect(talk.id)
        await other.ask("select_conversation", "conversation_selected", conversationId=talk.id)
        turn_id = await talk.say("Mend it.")
        await gate.reached.wait()
        made = await page.expect("plan.completed")
        assert [one["title"] for one in made["content"]["tasks"]] == ["Read it", "Mend it"]
        later = await page.expect("plan.step_completed")
        states = [one["status"] for one in later["content"]["tasks"]]
        assert (later["step_id"], states) == (made["step_id"], ["completed", "in_progress"])

        def is_plan(message: dict[str, object]) -> bool:
            data = message.get("data")
            return isinstance(data, dict) and data.get("subtype") == "plan"

        await other.until(lambda told: sum(map(is_plan, told)) == 2, what="both plans")
        gate.open()
        await talk.end_of(turn_id)
        plans = talk.events("plan")
        assert [one["content"] for one in plans] == [
            "[>] Read it\n[ ] Mend it",
            "[x] Read it\n[>] Mend it",
        ]


async def test_a_patch_makes_and_changes_files_and_everybody_gets_its_diff(world: World) -> None:
    folder = world.node.workspace
    (folder / "code.py").write_text("def area():\n    return None\n")
    world.model.script(Turn(tool_calls=[call("apply_patch", patch=PATCH)]), Turn(text="Patched."))
    async with await world.session() as talk:
        assert (await talk.ask("Patch it."))["content"] == "Patched."
        changed = {one["path"]: one for one in talk.events("file_changed")}
    assert (folder / "code.py").read_text() == "def area():\n    return 12\n"
    assert (folder / "notes.txt").read_text() == "one\n"
    assert {name: one["change"] for name, one in changed.items()} == {
        "notes.txt": "created",
        "code.py": "modified",
    }
    assert "-    return None\n+    return 12" in changed["code.py"]["diff"]


async def test_pictures_documents_and_notebooks_reach_the_model(world: World) -> None:
    def look(seen: RunningServer) -> MCPServer:
        mcp = MCPServer("eyes")

        @mcp.tool()
        def look() -> Image:
            seen.calls.append("look")
            return Image(data=SHOWN, format="png")

        return mcp

    folder = world.node.workspace
    (folder / "dot.png").write_bytes(MADE)
    (folder / "paper.pdf").write_bytes(pdf("Forty two pages ago"))
    cell = {"cell_type": "code", "source": "6 * 7", "outputs": [], "execution_count": 1}
    (folder / "book.ipynb").write_text(notebook(cell))
    names = ("dot.png", "paper.pdf", "book.ipynb")
    async with running_server(look) as eyes:
        server = {"name": "eyes", "type": "remote", "url": eyes.url}
        made = await world.user.ok("POST", "/mcp-servers", server)
        async with await world.session() as talk:
            await talk.until_offered("mcp__eyes__look", world.model)
            world.model.script(
                Turn(tool_calls=[*(call("read_file", path=one) for one in names)]),
                Turn(tool_calls=[call("mcp__eyes__look")]),
                Turn(text="Seen."),
            )
            assert (await talk.ask("Look at all of it."))["content"] == "Seen."
        await world.user.ok("DELETE", f"/mcp-servers/{made['id']}")
    assert eyes.calls == ["look"]
    files, last = world.model.requests[-2:]
    _, paper, book = [text for role, text in files.said if role == "tool"][-3:]
    assert "Forty two pages ago" in paper
    assert "6 * 7" in book
    assert files.images == [base64.b64encode(MADE).decode()]
    assert last.images == [base64.b64encode(one).decode() for one in (MADE, SHOWN)]


async def test_another_model_goes_on_where_an_answer_broke_off_and_readers_are_told(
    world: World,
) -> None:
    world.model.script(
        Turn(text="Once upon a time", cut_after=5, cut_cleanly=True), Turn(text=" there was.")
    )
    async with await world.session() as talk, client_of(world.user) as page:
        await page.reconnect(talk.id)
        turn_id = await talk.say("Tell me.")
        end = await talk.end_of(turn_id)
        assert end["content"].startswith("Once upon")
        assert end["content"].endswith(" there was.")
        assert talk.text(turn_id) == end["content"]
        told = "".join(one["content"] for one in talk.of(turn_id) if one["type"] == "thinking")
        assert "broke off in the middle of the answer" in told
        assert f"{FALLBACK} goes on from there" in told
        [usage] = [one for one in talk.of(turn_id) if one["type"] == "usage"]
        assert set(usage["models"]) == {"gpt-scripted", FALLBACK}
        assert (await page.expect("agent.final_answer"))["content"] == end["content"]
    assert [one.provider for one in world.model.requests[-2:]] == ["openai", "anthropic"]


def _is_task(task: str, request: ModelRequest) -> bool:
    return (request.model, request.prompt) == ("gpt-poet", task)


async def test_helpers_that_work_at_the_same_time_can_be_told_apart(world: World) -> None:
    poet = {"name": "Poet", "system_prompt": "You write verse.", "model": "gpt-poet"}
    helper = await world.user.ok("POST", "/agents", poet)
    chief = {"name": "Chief", "model": "gpt-chief", "sub_agents": [helper["id"]]}
    agent = await world.user.ok("POST", "/agents", chief)
    tasks = {"rain": Gate(), "snow": Gate()}
    world.model.when(
        lambda request: request.model == "gpt-chief",
        Turn(
            tool_calls=[
                ToolUse(name="delegate", arguments={"agent": "Poet", "task": one}, id=f"of-{one}")
                for one in tasks
            ]
        ),
        Turn(text="Two poems."),
    )
    for task, gate in tasks.items():
        world.model.when(
            partial(_is_task, task),
            Turn(tool_calls=[call("list_files", path=".")]),
            Turn(chunks=[f"Of {task}", gate, "."]),
        )
    session_id = await world.user.session(agent_id=agent["id"], machine_id=world.node.machine_id)
    async with Talk(world.user, session_id) as talk:
        turn_id = await talk.say("Poems.")
        for gate in tasks.values():  # both are at it
            await gate.reached.wait()
        for gate in tasks.values():
            gate.open()
        assert (await talk.end_of(turn_id))["content"] == "Two poems."
        theirs = [one for one in talk.of(turn_id) if one.get("agent") == "Poet"]
        for task in tasks:
            own = [one for one in theirs if one["parent_tool_call_id"] == f"of-{task}"]
            said = "".join(one["content"] for one in own if one["type"] == "text_chunk")
            assert said == f"Of {task}."
            assert [one["tool_name"] for one in own if one["type"] == "tool_call_start"] == [
                "list_files"
            ]


@pytest.mark.skipif(not FOUND.connects, reason="an old kernel")
@pytest.mark.parametrize("network", ["open", "off", "list"])
async def test_commands_have_the_network_that_their_session_was_given(
    world: World, network: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="answered")

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app, host="127.0.0.1") as server:
        direct = python(CONNECT.format(port=server.port))
        allowed = python(FETCH.format(host="127.0.0.1", port=server.port))
        other = python(FETCH.format(host="localhost", port=server.port))
        calls = [direct, allowed, other]
        world.model.script(*(Turn(tool_calls=[one]) for one in calls), Turn(text="Tried."))
        chosen: dict[str, object] = {"network": network}
        if network == "list":
            chosen["network_hosts"] = ["127.0.0.1"]
        async with await world.session(session_config=chosen) as talk:
            assert (await talk.ask("Try it."))["content"] == "Tried."
            results = results_of(talk)
    wanted = {
        "open": ("reached", "answered", "answered"),
        "off": ("not permitted", "not permitted", "not permitted"),
        "list": ("Permission denied", "answered", "403"),
    }[network]
    assert [word in one for word, one in zip(wanted, results, strict=True)] == [True] * 3, results


@pytest.mark.skipif(not FOUND.files, reason="no fence here")
async def test_what_is_allowed_without_a_question_stays_inside_of_the_fence(
    world: World, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not for agents")
    outside = call("bash", command=f"cat {secret}; echo x > {tmp_path}/made")
    write = call("write_file", path="made.txt", content="x")
    world.model.script(Turn(tool_calls=[write]), Turn(tool_calls=[outside]), Turn(text="Tried."))
    async with await world.session(agent={"permission_mode": "free"}) as talk:
        assert (await talk.ask("Do all of it."))["content"] == "Tried."
        assert not talk.events("approval_request")
        result = results_of(talk)[-1]
        assert "not for agents" not in result
        # What is not shown to it and what it may not write is refused in the system's own words.
        assert f"{secret}: " in result
        assert f"{tmp_path}/made: " in result
    assert (world.node.workspace / "made.txt").read_text() == "x"
    assert not (tmp_path / "made").exists()

    asked_for = call("bash", command="rm made.txt")
    world.model.script(Turn(tool_calls=[write]), Turn(tool_calls=[asked_for]), Turn(text="Gone."))
    async with (
        await world.session(agent={"permission_mode": "accept_edits"}) as talk,
        client_of(world.user) as page,
    ):
        await page.reconnect(talk.id)
        turn_id = await talk.say("Write and remove it.")
        question = await page.expect("agent.user_confirm")
        [asked] = talk.events("approval_request")
        assert asked["fence"].startswith("files: kernel")
        summary = question["metadata"]["plan_summary"]
        assert f"Fence: {asked['fence']}" in summary
        assert "rm made.txt" in summary
        await page.respond(question, {"confirmed": True})
        assert (await talk.end_of(turn_id))["content"] == "Gone."
    assert not (world.node.workspace / "made.txt").exists()
