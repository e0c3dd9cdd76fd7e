"""What a VM asks for and reports (000 §4.3–4.5, §6): every method, its errors, and `resume`."""

import asyncio
import base64
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp.server.mcpserver import MCPServer

from tests.support.control import Control, ControlProcess, TestUser, running
from tests.support.orgs import admin_of_new_org, import_skill
from tests.support.vm import ScriptedVm
from tests.unit.control.services import mcp_server
from tests.unit.control.services.mcp_server import RunningServer, running_server
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("control") / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(data: Path) -> AsyncIterator[Control]:
    async with running(data, rate_limit_per_minute=0, mcp_allowed_hosts="127.0.0.1") as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    return await admin_of_new_org(control)


@pytest_asyncio.fixture(loop_scope="module")
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await user.vm() as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, vm: ScriptedVm) -> str:
    return await user.session()


class Gate:
    """A tool that answers when the test lets it."""

    def __init__(self) -> None:
        self.calls = 0
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def pass_through(self) -> str:
        self.calls += 1
        self.reached.set()
        await self.opened.wait()
        return "through"


@pytest_asyncio.fixture(loop_scope="module")
async def gate(user: TestUser, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """The tool `gate` of the user's MCP server `tools`, beside `add`, `fail` and `hang`."""
    made, usual = Gate(), mcp_server._tools

    def with_gate(seen: RunningServer) -> MCPServer:
        tools = usual(seen)
        tools.tool(name="gate")(made.pass_through)
        return tools

    monkeypatch.setattr(mcp_server, "_tools", with_gate)
    async with running_server() as server:
        await user.ok(
            "POST", "/mcp-servers", {"name": "tools", "type": "remote", "url": server.url}
        )
        yield made
        made.opened.set()


def mcp_call(session_id: str, request_id: str, tool: str, **arguments: Any) -> Json:
    return {
        "type": "request",
        "session_id": session_id,
        "id": request_id,
        "method": "mcp_call",
        "params": {"server": "tools", "tool": tool, "arguments": arguments},
    }


async def answer_to(vm: ScriptedVm, request_id: str) -> Json:
    return await vm.expect("response", lambda one: one["id"] == request_id)


async def resumed(vm: ScriptedVm, *ids: str) -> Json:
    """The results of a `resume`."""
    vm.received[:] = [one for one in vm.received if one["type"] != "resume_response"]
    await vm.send({"type": "resume", "pending_ids": list(ids)})
    results: Json = (await vm.expect("resume_response"))["results"]
    return results


def code_of(answer: Json) -> str:
    """The code of a failed response, whose shape is checked on the way."""
    assert answer.keys() == {"type", "id", "result", "error"}
    assert answer["result"] is None
    assert answer["error"].keys() == {"code", "message"}
    return str(answer["error"]["code"])


# --- Requests -------------------------------------------------------------------------------------

MANIFEST = b"---\nname: Search\ndescription: d\nversion: %s\n---\nBody \xe4\xbd\xa0\xe5\xa5\xbd"


@pytest.mark.proves("000-4.3-get-skill-package", "000-4.3-skill-version-optional")
async def test_get_skill_package_sends_the_whole_directory_of_one_version(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    binary = bytes(range(256))
    await import_skill(user, {"SKILL.md": MANIFEST % b"1.0", "scripts/old.py": b"old"})
    await import_skill(
        user,
        {"SKILL.md": MANIFEST % b"2.0", "scripts/run.py": b"print()\n", "logo.bin": binary},
    )
    latest = await vm.request(session, "get_skill_package", skill_id="search")
    assert latest["error"] is None
    package = latest["result"]["package"]
    assert (package["skill_id"], package["version"]) == ("search", "2.0")
    files = {file["path"]: file for file in package["files"]}
    assert files.keys() == {"SKILL.md", "scripts/run.py", "logo.bin"}
    assert files["SKILL.md"]["content"] == (MANIFEST % b"2.0").decode()
    assert files["SKILL.md"]["encoding"] == "utf-8"
    assert files["logo.bin"]["encoding"] == "base64"
    assert base64.b64decode(files["logo.bin"]["content"]) == binary
    assert package["file_inventory"]["script_files"] == ["scripts/run.py"]
    older = await vm.request(session, "get_skill_package", skill_id="search", version="1.0")
    assert {file["path"] for file in older["result"]["package"]["files"]} == {
        "SKILL.md",
        "scripts/old.py",
    }
    named = await vm.request(session, "get_skill_package", skill_id="search", version="latest")
    assert named["result"] == latest["result"]


@pytest.mark.proves("000-5.4-skill-not-found", "000-5.4-response-failure")
async def test_a_skill_that_is_not_there_or_another_orgs_is_not_found(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    other = await admin_of_new_org(control, "eve")
    await import_skill(other, {"SKILL.md": MANIFEST % b"1.0"})
    for params in ({"skill_id": "search"}, {"skill_id": "../../etc"}, {"skill_id": "x\x00"}):
        answer = await vm.request(session, "get_skill_package", **params)
        assert code_of(answer) in ("SKILL_NOT_FOUND", "INVALID_REQUEST")
    await import_skill(user, {"SKILL.md": MANIFEST % b"1.0"})
    wrong = await vm.request(session, "get_skill_package", skill_id="search", version="9")
    assert code_of(wrong) == "SKILL_NOT_FOUND"
    assert code_of(await vm.request(session, "get_skill_package")) == "INVALID_PARAMS"


@pytest.mark.proves("000-4.3-memory-search")
async def test_memory_search_finds_the_callers_memories_only(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    org_id = (await user.ok("GET", f"/users/{user.id}"))["org_id"]
    colleague = await control.user("bob", org_id=org_id)
    await user.ok("POST", "/memories", {"content": "The ship sails at noon", "metadata": {"a": 1}})
    await user.ok("POST", "/memories", {"content": "shared ship", "shared": True})
    await user.ok("POST", "/memories", {"content": "船在中午起航"})
    await colleague.ok("POST", "/memories", {"content": "bob's secret ship"})
    answer = await vm.request(session, "memory_search", query="ship", top_k=5)
    found = answer["result"]["results"]
    assert {one["content"] for one in found} >= {"The ship sails at noon", "shared ship"}
    assert all("secret" not in one["content"] for one in found)
    first = next(one for one in found if one["content"].startswith("The ship"))
    assert first.keys() == {"content", "score", "metadata"}
    assert first["metadata"] == {"a": 1}
    chinese = await vm.request(session, "memory_search", query="起航")
    assert chinese["result"]["results"][0]["content"] == "船在中午起航"


async def test_memory_search_gives_at_most_twenty(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for number in range(25):
        await user.ok("POST", "/memories", {"content": f"apple {number}"})
    answer = await vm.request(session, "memory_search", query="apple", top_k=1000)
    assert len(answer["result"]["results"]) == 20
    for params in ({}, {"query": 5}, {"query": "apple", "top_k": "many"}):
        assert code_of(await vm.request(session, "memory_search", **params)) == "INVALID_PARAMS"
    assert code_of(await vm.request(session, "memory_search", query="x" * 10_000)) == "TOO_LARGE"


@pytest.mark.usefixtures("gate")
@pytest.mark.proves("000-4.3-mcp-call")
async def test_mcp_call_reaches_a_remote_server(vm: ScriptedVm, session: str) -> None:
    await vm.send(mcp_call(session, "sum", "add", a=2, b=40))
    answer = await answer_to(vm, "sum")
    assert answer["error"] is None
    assert answer["result"]["result"]["content"][0]["text"] == "42"


@pytest.mark.usefixtures("gate")
async def test_mcp_call_says_what_went_wrong(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    missing = await vm.request(session, "mcp_call", server="none", tool="add", arguments={})
    assert code_of(missing) == "MCP_SERVER_NOT_FOUND"
    await user.ok("POST", "/mcp-servers", {"name": "files", "type": "local", "command": "mcp"})
    local = await vm.request(session, "mcp_call", server="files", tool="add")
    assert code_of(local) == "MCP_LOCAL"
    assert code_of(await vm.request(session, "mcp_call", server="tools")) == "INVALID_PARAMS"
    await vm.send(mcp_call(session, "failing", "fail", message="no luck"))
    assert code_of(await answer_to(vm, "failing")) == "MCP_ERROR"
    stranger = await control.user("eve")
    async with await stranger.vm() as their_vm:
        theirs = await stranger.session()
        await their_vm.send(mcp_call(theirs, "theft", "add", a=1, b=1))
        assert code_of(await answer_to(their_vm, "theft")) == "MCP_SERVER_NOT_FOUND"


@pytest.mark.proves("000-8-mcp-timeout-is-the-servers", "000-8-timeout-per-method")
async def test_mcp_call_ends_after_the_servers_own_timeout(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    async with running_server() as server:
        slow = {"name": "slow", "type": "remote", "url": server.url, "timeout_s": 0.5}
        await user.ok("POST", "/mcp-servers", slow)
        answer = await vm.request(session, "mcp_call", server="slow", tool="hang", arguments={})
        assert code_of(answer) == "MCP_TIMEOUT"


@pytest.mark.proves("000-4.3-get-config")
async def test_get_config_gives_the_configuration_of_an_agent_of_the_org(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    agent = await user.ok("POST", "/agents", {"name": "a", "model": "m", "temperature": 0.5})
    answer = await vm.request(session, "get_config", agent_id=agent["id"])
    config = answer["result"]["config"]
    assert (config["name"], config["model"], config["temperature"]) == ("a", "m", 0.5)
    other = await admin_of_new_org(control, "eve")
    foreign = await other.ok("POST", "/agents", {"name": "theirs", "system_prompt": "secret"})
    for agent_id in (foreign["id"], "none", "../x", ""):
        answer = await vm.request(session, "get_config", agent_id=agent_id)
        assert code_of(answer) == "AGENT_NOT_FOUND"


@pytest.mark.proves("000-4.3-get-session")
async def test_get_session_gives_a_session_of_the_user_with_its_agent(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    agent = await user.ok("POST", "/agents", {"name": "a", "model": "m"})
    session_id = await user.session(agent_id=agent["id"], agent_config={"model": "n"})
    answer = await vm.request(session_id, "get_session", session_id=session_id)
    assert answer["result"]["session"]["id"] == session_id
    assert (answer["result"]["agent"]["name"], answer["result"]["agent"]["model"]) == ("a", "n")
    itself = await vm.request(session_id, "get_session")
    assert itself["result"]["session"]["id"] == session_id
    stranger = await control.user("eve")
    async with await stranger.vm():
        theirs = await stranger.session()
        answer = await vm.request(session_id, "get_session", session_id=theirs)
        assert code_of(answer) == "SESSION_NOT_FOUND"


@pytest.mark.proves("000-5.4-response-failure")
async def test_an_unknown_method_is_an_error_with_its_code(vm: ScriptedVm, session: str) -> None:
    for method in ("from_the_future", "", "usage_report", "__class__", "x" * 10_000):
        assert code_of(await vm.request(session, method)) == "METHOD_NOT_FOUND"


@pytest.mark.proves("000-4.3-answer-has-the-requests-id")
async def test_each_request_gets_its_own_answer_whatever_the_order(
    user: TestUser, vm: ScriptedVm, session: str, gate: Gate
) -> None:
    await vm.send(mcp_call(session, "slow", "gate"))
    await gate.reached.wait()
    await vm.send(mcp_call(session, "quick", "add", a=1, b=2))
    assert (await answer_to(vm, "quick"))["result"]["result"]["content"][0]["text"] == "3"
    assert [one["id"] for one in vm.of_type("response")] == ["quick"]
    gate.opened.set()
    slow = await answer_to(vm, "slow")
    assert slow["result"]["result"]["content"][0]["text"] == "through"


async def test_too_many_requests_at_once_are_refused_and_the_line_lives_on(
    vm: ScriptedVm, session: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT_MAX", 2)
    for number in range(3):
        await vm.send(mcp_call(session, f"r{number}", "gate"))
    assert code_of(await answer_to(vm, "r2")) == "TOO_MANY_REQUESTS"
    gate.opened.set()
    assert (await answer_to(vm, "r0"))["error"] is None
    assert (await answer_to(vm, "r1"))["error"] is None
    await vm.send(mcp_call(session, "r3", "gate"))
    assert (await answer_to(vm, "r3"))["error"] is None


async def test_two_machines_may_use_the_same_request_id(
    user: TestUser, vm: ScriptedVm, session: str, gate: Gate
) -> None:
    async with await user.vm() as second:
        neighbour = await user.session()
        await second.expect("start_session")
        await vm.send(mcp_call(session, "msg-1", "gate"))
        await gate.reached.wait()
        await second.send(mcp_call(neighbour, "msg-1", "add", a=1, b=1))
        answer = await answer_to(second, "msg-1")
        assert answer["result"]["result"]["content"][0]["text"] == "2"
        gate.opened.set()
        first = await answer_to(vm, "msg-1")
        assert first["result"]["result"]["content"][0]["text"] == "through"


# --- Reports --------------------------------------------------------------------------------------


async def report(vm: ScriptedVm, session_id: str, method: str, **params: Any) -> None:
    await vm.send(
        {"type": "fire_and_forget", "session_id": session_id, "method": method, "params": params}
    )


@pytest.mark.proves("000-4.4-usage-report", "000-4.4-audit-log")
async def test_usage_and_audit_reports_are_recorded_for_their_session(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for _ in range(3):
        usage = {"model": "m-1", "tokens_in": 10, "tokens_out": 5, "latency_ms": 20}
        await report(vm, session, "usage_report", **usage)
    await report(vm, session, "audit_log", event="tool.ran", details={"tool": "bash"})
    async with asyncio.timeout(10):
        while True:
            page = await user.ok("GET", "/audit")
            entries = [one for one in page["items"] if one["event"] == "tool.ran"]
            if entries:
                break
    assert entries[0]["session_id"] == session
    assert entries[0]["details"]["tool"] == "bash"
    sums = (await user.ok("GET", "/usage?group_by=model"))["items"]
    assert [(one["key"], one["calls"], one["tokens_in"], one["tokens_out"]) for one in sums] == [
        ("m-1", 3, 30, 15)
    ]
    assert (await user.ok("GET", "/audit/verify"))["ok"] is True


@pytest.mark.proves("000-4.4-evolution-submit")
async def test_a_submitted_evolution_waits_for_a_decision_and_becomes_a_skill(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    submitted = {
        "name": "Tidy desk",
        "description": "Tidies",
        "skill_md": "# Tidy\nSteps",
        "quality_score": 0.9,
    }
    await report(vm, session, "evolution_submit", **submitted)
    items: list[Json] = []
    async with asyncio.timeout(10):
        while not items:
            items = (await user.ok("GET", "/evolutions?state=pending"))["items"]
    assert (items[0]["name"], items[0]["session_id"]) == ("Tidy desk", session)
    await user.ok("POST", f"/evolutions/{items[0]['id']}/approve")
    answer = await vm.request(session, "get_skill_package", skill_id="tidy-desk")
    assert "Steps" in answer["result"]["package"]["files"][0]["content"]


@pytest.mark.proves("000-4.4-snapshot-sync")
async def test_the_newest_snapshot_comes_back_with_the_next_start(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for number in range(5):
        await report(
            vm,
            session,
            "snapshot_sync",
            checkpoint={"step": number},
            short_term_memory={"messages": ["hi"]},
            conversation_state={},
            file_manifest={},
        )
    await report(vm, session, "memory_write", content="the snapshots are through")
    async with asyncio.timeout(10):
        while not (await user.ok("GET", "/memories"))["items"]:
            pass
    await vm.heartbeat(session)
    await vm.heartbeat()
    await vm.request(session, "get_session")  # answered after what was sent before
    await user.say(session, "go on")
    await vm.expect("user_message")
    snapshot = vm.of_type("start_session")[-1]["data"]["snapshot"]
    assert snapshot["checkpoint"] == {"step": 4}
    assert snapshot["short_term_memory"] == {"messages": ["hi"]}


async def test_a_written_memory_is_found_by_a_later_search(vm: ScriptedVm, session: str) -> None:
    await report(vm, session, "memory_write", content="Ada likes tea", metadata={"kind": "taste"})
    found: list[Json] = []
    async with asyncio.timeout(10):
        while not found:
            answer = await vm.request(session, "memory_search", query="tea")
            found = answer["result"]["results"]
    assert found[0]["content"] == "Ada likes tea"
    assert found[0]["metadata"] == {"kind": "taste", "session_id": session}


async def test_bad_reports_are_dropped_and_the_next_one_counts(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    for method, params in (
        ("from_the_future", {}),
        ("usage_report", {"model": "m"}),
        ("usage_report", {"model": "m", "tokens_in": -1, "tokens_out": 1}),
        ("usage_report", {"model": "m", "tokens_in": 10**30, "tokens_out": 1}),
        ("usage_report", {"model": "m\x00", "tokens_in": 1, "tokens_out": 1}),
        ("audit_log", {"event": 1}),
        ("audit_log", {"event": "e", "details": {"x": "y" * 100_000}}),
        ("evolution_submit", {"name": "x"}),
        (
            "evolution_submit",
            {"name": "../x", "description": "", "skill_md": "", "quality_score": 9},
        ),
        ("snapshot_sync", {"checkpoint": "text"}),
        ("snapshot_sync", {"checkpoint": {"deep": deep}}),
        ("memory_write", {"content": ""}),
        ("memory_write", {"content": "x" * 100_000}),
    ):
        await report(vm, session, method, **params)
    await report(vm, session, "usage_report", model="good", tokens_in=1, tokens_out=1)
    items: list[Json] = []
    async with asyncio.timeout(10):
        while not items:
            items = (await user.ok("GET", "/usage?group_by=model"))["items"]
    assert [one["key"] for one in items] == ["good"]
    assert (await user.ok("GET", "/memories"))["items"] == []
    assert vm.of_type("error") == []


# --- Resume ---------------------------------------------------------------------------------------


@pytest.mark.proves(
    "000-6-resume-answers-what-finished", "000-5.8-completed-with-data", "000-5.8-not-found"
)
async def test_a_request_that_finished_while_the_line_was_down_is_returned_by_resume(
    control: Control, user: TestUser, gate: Gate
) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await vm.send(mcp_call(session_id, "pending", "gate"))
    await gate.reached.wait()
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until_type("session_status")
    gate.opened.set()
    async with user.again(vm) as back:
        results = await resumed(back, "pending", "never-sent")
        async with asyncio.timeout(10):
            while results["pending"]["status"] == "not_found":
                results = await resumed(back, "pending", "never-sent")
        assert results["never-sent"] == {"status": "not_found"}
        assert results["pending"]["status"] == "completed"
        assert results["pending"]["data"]["result"]["content"][0]["text"] == "through"
        stranger = await control.user("eve")
        async with await stranger.vm() as theirs:
            assert await resumed(theirs, "pending") == {"pending": {"status": "not_found"}}
    assert gate.calls == 1


@pytest.mark.proves("000-6-not-found-is-sent-again")
async def test_a_request_that_still_runs_is_joined_when_it_is_sent_again(
    user: TestUser, gate: Gate
) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await vm.send(mcp_call(session_id, "long", "gate"))
    await gate.reached.wait()
    await vm.drop()
    async with user.again(vm) as back:
        assert await resumed(back, "long") == {"long": {"status": "not_found"}}
        await back.send(mcp_call(session_id, "long", "gate"))
        await back.request(session_id, "get_session")  # answered after what was sent before
        gate.opened.set()
        answer = await answer_to(back, "long")
        assert answer["result"]["result"]["content"][0]["text"] == "through"
        await back.request(session_id, "get_session")
        assert len([one for one in back.of_type("response") if one["id"] == "long"]) == 1
    assert gate.calls == 1


async def test_a_request_that_failed_is_returned_with_its_error(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    await vm.send(
        {
            "type": "request",
            "session_id": session,
            "id": "lost",
            "method": "get_config",
            "params": {"agent_id": "none"},
        }
    )
    await answer_to(vm, "lost")
    results = await resumed(vm, "lost")
    assert results["lost"]["status"] == "failed"
    assert results["lost"]["error"]["code"] == "AGENT_NOT_FOUND"


async def test_results_are_kept_for_five_minutes(
    user: TestUser, vm: ScriptedVm, session: str, data: Path
) -> None:
    answer = await vm.request(session, "get_session")
    assert (await resumed(vm, answer["id"]))[answer["id"]]["status"] == "completed"
    for aged_ms, status in ((290_000, "completed"), (20_000, "not_found")):
        database = sqlite3.connect(data / "trunkline.db")
        with database:
            database.execute(
                "update results set finished_at = finished_at - ? where user_id = ?",
                [aged_ms, user.id],
            )
        database.close()
        assert (await resumed(vm, answer["id"]))[answer["id"]]["status"] == status


async def test_resume_takes_strange_and_many_ids(
    vm: ScriptedVm, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = await vm.request(session, "get_session")
    strange = ["", "\x00", "x" * 5000, "' or 1=1 --", "😀", answer["id"], answer["id"]]
    results = await resumed(vm, *strange)
    assert results.keys() == set(strange)
    assert {key for key, value in results.items() if value["status"] == "completed"} == {
        answer["id"]
    }
    monkeypatch.setattr(limits, "RESUME_IDS_MAX", 100)
    assert len(await resumed(vm, *(f"id-{number}" for number in range(10_000)))) == 100
    assert await resumed(vm) == {}


@pytest.mark.proves("000-6-resume-answers-what-finished")
async def test_results_survive_a_kill_of_the_control_plane(tmp_path: Path) -> None:
    process = await ControlProcess(tmp_path / "data").start()
    try:
        user = await process.user()
        vm = await user.vm()
        session_id = await user.session()
        good = await vm.request(session_id, "get_session")
        bad = await vm.request(session_id, "get_config", agent_id="none")
        await process.kill()
        await vm.closed()
        await vm.leave()
        await process.start()
        async with user.again(vm) as back:
            results = await resumed(back, good["id"], bad["id"], "other")
            assert results[good["id"]] == {"status": "completed", "data": good["result"]}
            assert results[bad["id"]] == {"status": "failed", "error": bad["error"]}
            assert results["other"] == {"status": "not_found"}
            # Its session is still known: the line goes on where it was.
            await back.text(session_id, "still here")
            async with user.reader(session_id) as reader:
                await reader.until_text("still here")
    finally:
        await process.terminate()
