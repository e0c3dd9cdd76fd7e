"""Document 004 §10, row by row: one turn that runs while the line is cut, and what became of it."""

import contextlib
import io
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.support.control import ADMIN, Control, running
from tests.support.eventually import eventually
from tests.support.mcp_server import RunningServer, running_server
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import Talk, World
from tests.support.proxy import CuttableProxy

pytestmark = pytest.mark.asyncio(loop_scope="module")
Json = dict[str, Any]

DURING = {
    "local mcp": ToolUse(name="mcp__clock__get_current_time", arguments={"timezone": "UTC"}),
    "code": ToolUse(name="code_execution", arguments={"code": "print(6 * 7)"}),
    "memory": ToolUse(name="memory_search", arguments={"query": "milk"}),
    "remote mcp": ToolUse(name="mcp__sums__add", arguments={"a": 1, "b": 2}),
    "uncached skill": ToolUse(name="read_skill_file", arguments={"skill": "rare"}),
    "cached skill": ToolUse(name="read_skill_file", arguments={"skill": "common"}),
}


class Cut:
    """What was seen of the one turn: while the line was down, and after it came back."""

    def __init__(self) -> None:
        self.results: dict[str, str] = {}
        self.memory_while_down = ""
        self.checkpoints_while_down = 0
        self.remote: RunningServer
        self.world: World
        self.talk: Talk
        self.turn_id = ""
        self.end: Json = {}


def package(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("SKILL.md", f"---\nname: {name}\ndescription: A skill.\n---\nDo {name}.\n")
    return packed.getvalue()


async def prepare(control: Control, world: World, remote: RunningServer) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        for name in ("common", "rare"):
            async with http.post(control.url + "/api/v1/skills", data=package(name)) as answer:
                assert answer.status < 300
    program = str(Path(sys.executable).parent / "mcp-server-time")
    for server in (
        {"name": "clock", "type": "local", "command": program, "args": []},
        {"name": "sums", "type": "remote", "url": remote.url},
    ):
        await world.user.ok("POST", "/mcp-servers", server)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cut(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cut]:
    folder = tmp_path_factory.mktemp("degraded")
    async with contextlib.AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelServer())
        remote = await stack.enter_async_context(running_server())
        control = await stack.enter_async_context(
            running(folder / "data", mcp_allowed_hosts="127.0.0.1")
        )
        port = urlsplit(control.url).port or 0
        proxy = await stack.enter_async_context(CuttableProxy(port))
        world = await World(control, model, folder / "home").open(
            f"ws://127.0.0.1:{proxy.port}/ws/vm"
        )
        stack.push_async_callback(world.close)
        await prepare(control, world, remote)
        seen = await _run(world, proxy, remote)
        yield seen
        await seen.talk.reader.leave()


async def _run(world: World, proxy: CuttableProxy, remote: RunningServer) -> Cut:
    seen = Cut()
    seen.world, seen.remote = world, remote
    gate = Gate()
    seen.talk = await (await world.session(agent={"model": "gpt-cut"})).__aenter__()
    await seen.talk.until_offered(DURING["local mcp"].name, world.model)
    world.model.script(
        Turn(tool_calls=[DURING["cached skill"]]),
        Turn(text="I know it now."),
        Turn(tool_calls=list(DURING.values()), gate=gate, tokens_in=1000, tokens_out=100),
        Turn(text="Done without the line.", tokens_in=1000, tokens_out=100),
    )
    await seen.talk.ask("Learn the common skill.")
    seen.turn_id = await seen.talk.say("Now alone.")
    await gate.reached.wait()
    folder = world.node.home / ".semibot" / "sessions" / seen.talk.id
    before = set((folder / "checkpoints").rglob("*.json"))
    proxy.cut()
    gate.open()

    async def answered() -> bool:
        text = (folder / "memory" / "conversation.md").read_text()
        return "Done without the line." in text

    await eventually(answered)
    seen.memory_while_down = (folder / "memory" / "conversation.md").read_text()
    seen.checkpoints_while_down = len(set((folder / "checkpoints").rglob("*.json")) - before)
    seen.results = dict(zip(DURING, world.model.requests[-1].tool_results, strict=True))
    assert not seen.talk.ends(seen.turn_id)
    proxy.mend()
    seen.end = await seen.talk.end_of(seen.turn_id)
    return seen


@pytest.mark.proves("004-10-short-term-memory")
async def test_short_term_memory_is_written(cut: Cut) -> None:
    assert "Now alone." in cut.memory_while_down
    assert "Done without the line." in cut.memory_while_down


@pytest.mark.proves("004-10-checkpoints")
async def test_checkpoints_are_written(cut: Cut) -> None:
    assert cut.checkpoints_while_down > 0


@pytest.mark.proves("004-10-models")
async def test_models_are_called(cut: Cut) -> None:
    assert cut.end["content"] == "Done without the line."


@pytest.mark.proves("004-10-local-mcp")
async def test_local_mcp_servers_answer(cut: Cut) -> None:
    assert "UTC" in cut.results["local mcp"]


@pytest.mark.proves("004-10-code")
async def test_code_runs(cut: Cut) -> None:
    assert "42" in cut.results["code"]


@pytest.mark.proves("004-10-long-term-memory")
async def test_a_search_of_long_term_memory_finds_nothing(cut: Cut) -> None:
    done = _completed(cut, "memory_search")
    assert not done.get("is_error")


@pytest.mark.proves("004-10-remote-mcp")
async def test_a_remote_mcp_tool_is_an_error_that_the_model_reads(cut: Cut) -> None:
    assert _completed(cut, "mcp__sums__add")["is_error"] is True
    assert cut.remote.calls == []


@pytest.mark.proves("004-10-uncached-skill")
async def test_a_skill_that_is_not_here_yet_is_an_error(cut: Cut) -> None:
    rare, common = (
        one
        for one in cut.talk.of(cut.turn_id)
        if one["type"] == "tool_call_complete" and one["tool_name"] == "read_skill_file"
    )
    errors = sorted((bool(one.get("is_error")) for one in (rare, common)), reverse=True)
    assert errors == [True, False]
    assert "Do rare." not in cut.results["uncached skill"]


@pytest.mark.proves("004-10-cached-skill")
async def test_a_skill_that_is_here_works(cut: Cut) -> None:
    assert "Do common." in cut.results["cached skill"]


@pytest.mark.proves("004-10-usage")
async def test_usage_arrives_once_when_the_line_is_back(cut: Cut) -> None:
    async def reported() -> Json:
        rows = (await cut.world.user.ok("GET", "/usage?group_by=model"))["items"]
        [row] = [row for row in rows if row.get("key", row.get("model")) == "gpt-cut"]
        return dict(row)

    row = await eventually(reported, lambda row: row["tokens_in"] >= 2000)
    assert row["tokens_in"] == 2000 + 2 * 11


@pytest.mark.proves("004-10-events")
async def test_events_are_sent_after_the_return_in_order_and_once(cut: Cut) -> None:
    assert cut.talk.text(cut.turn_id) == "Done without the line."
    assert cut.talk.reader.ids == list(range(1, len(cut.talk.reader.ids) + 1))
    kinds = [one["type"] for one in cut.talk.of(cut.turn_id)]
    assert kinds.count("tool_call_start") == kinds.count("tool_call_complete") == len(DURING)


async def test_readers_are_told_what_works_without_the_line(cut: Cut) -> None:
    told = [one for one in cut.talk.events("session_status") if one.get("machine") == "degraded"]
    assert told
    assert told[0]["works"]
    assert told[0]["degraded"]


def _completed(cut: Cut, name: str) -> Json:
    [done] = [
        one
        for one in cut.talk.of(cut.turn_id)
        if one["type"] == "tool_call_complete" and one["tool_name"] == name
    ]
    return done
