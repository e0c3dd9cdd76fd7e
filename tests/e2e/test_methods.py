"""What an execution plane asks for and reports over the wire (source document 000 §4.3, §4.4)."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.control import ADMIN, Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from tests.unit.control.services.mcp_server import running_server
from tests.unit.control.services.test_skill_files import zipped
from trunkline import limits
from trunkline.control.services.config import Config
from trunkline.control.services.methods import Methods


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    async with running(tmp_path / "data", mcp_allowed_hosts="127.0.0.1") as started:
        yield started


@pytest.fixture
async def user(control: Control) -> TestUser:
    return await control.user(role="org_admin")


@pytest.fixture
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await user.vm() as connected:
        yield connected


@pytest.fixture
async def session(user: TestUser, vm: ScriptedVm) -> str:
    return await user.session(agent_config={"model": "m-1"})


async def _report(vm: ScriptedVm, session: str, method: str, **params: Any) -> None:
    message = {"type": "fire_and_forget", "session_id": session, "method": method}
    await vm.send({**message, "params": params})


# --- Requests -------------------------------------------------------------------------------------


def _skill(version: str, text: str) -> bytes:
    head = f"---\nname: csv\ndescription: CSV files\nversion: {version}\n---\n{text}\n"
    return zipped(("SKILL.md", head.encode()), ("logo.bin", b"\xff\x00"))


@pytest.mark.proves("000-4.3-get-skill-package", "000-4.3-skill-version-optional")
async def test_get_skill_package_answers_the_whole_package(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for version in ("1.0.0", "2.0.0"):
        await _upload(control, user, _skill(version, f"text {version}"))
    answer = await vm.request(session, "get_skill_package", skill_id="csv", version="1.0.0")
    assert answer["error"] is None
    package = answer["result"]["package"]
    assert package["skill_id"] == "csv"
    assert package["version"] == "1.0.0"
    files = {one["path"]: (one["content"], one["encoding"]) for one in package["files"]}
    assert files.keys() == {"SKILL.md", "logo.bin"}
    assert files["logo.bin"] == ("/wA=", "base64")
    assert "text 1.0.0" in files["SKILL.md"][0]
    assert package["file_inventory"]["has_skill_md"] is True
    newest = await vm.request(session, "get_skill_package", skill_id="csv")
    assert newest["result"]["package"]["version"] == "2.0.0"


async def _upload(control: Control, user: TestUser, data: bytes) -> None:
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": "application/zip"}
    async with aiohttp.ClientSession() as http:
        url = control.url + "/api/v1/skills"
        async with http.post(url, data=data, headers=headers) as answer:
            assert answer.status == 201, await answer.text()


@pytest.mark.proves("000-5.4-skill-not-found", "000-5.4-response-failure")
async def test_an_unknown_skill_is_an_error_response(vm: ScriptedVm, session: str) -> None:
    answer = await vm.request(session, "get_skill_package", skill_id="missing")
    assert answer["result"] is None
    assert answer["error"]["code"] == "SKILL_NOT_FOUND"
    assert answer["error"]["message"]


@pytest.mark.proves("000-4.3-memory-search")
async def test_memory_search_answers_scored_memories(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for content in ("The deploy key is in the vault", "Lunch is at noon"):
        await user.ok("POST", "/memories", {"content": content, "metadata": {"source": "test"}})
    answer = await vm.request(session, "memory_search", query="deploy key vault", top_k=1)
    (hit,) = answer["result"]["results"]
    assert hit["content"] == "The deploy key is in the vault"
    assert 0 <= hit["score"] <= 1
    assert hit["metadata"]["source"] == "test"
    without = await vm.request(session, "memory_search", query="deploy key vault")
    assert without["result"]["results"][0]["content"] == hit["content"]


@pytest.mark.proves("000-4.3-mcp-call")
async def test_mcp_call_runs_the_tool_and_answers_its_result(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    async with running_server() as server:
        remote = {"name": "calc", "type": "remote", "url": server.url}
        await user.ok("POST", "/mcp-servers", remote)
        answer = await vm.request(
            session, "mcp_call", server="calc", tool="add", arguments={"a": 1, "b": 2}
        )
        assert answer["error"] is None
        assert answer["result"]["result"]["structuredContent"] == {"result": 3}
        assert server.calls == ["add"]


@pytest.mark.proves("000-8-mcp-timeout-is-the-servers", "000-8-timeout-per-method")
async def test_an_mcp_call_has_the_time_limit_of_its_server(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    async with running_server() as server:
        for name, timeout_s in (("quick", 0.3), ("patient", 0.6)):
            remote = {"name": name, "type": "remote", "url": server.url, "timeout_s": timeout_s}
            await user.ok("POST", "/mcp-servers", remote)
            answer = await vm.request(session, "mcp_call", server=name, tool="hang", arguments={})
            assert answer["error"]["code"].endswith("TIMEOUT")
            assert f"{timeout_s} s" in answer["error"]["message"]


@pytest.mark.proves("000-4.3-get-config")
async def test_get_config_answers_the_agent(user: TestUser, vm: ScriptedVm, session: str) -> None:
    agent = await user.ok("POST", "/agents", {"name": "helper", "model": "m-2"})
    answer = await vm.request(session, "get_config", agent_id=agent["id"])
    assert answer["result"]["config"]["model"] == "m-2"
    assert answer["result"]["config"]["id"] == agent["id"]


@pytest.mark.proves("000-4.3-get-session", "000-9-token-opens-all-sessions-of-its-user")
async def test_get_session_answers_any_session_of_the_user_and_of_nobody_else(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    other = await user.session(agent_config={"model": "m-9"})
    for wanted, model in ((session, "m-1"), (other, "m-9")):
        answer = await vm.request(session, "get_session", session_id=wanted)
        assert answer["result"]["session"]["id"] == wanted
        assert answer["result"]["agent"]["model"] == model
    stranger = await control.user("eve")
    async with await stranger.vm():
        foreign = await stranger.session()
        answer = await vm.request(session, "get_session", session_id=foreign)
        assert answer["error"]["code"] == "SESSION_NOT_FOUND"


def _has_id(request_id: str, message: dict[str, Any]) -> bool:
    return bool(message["id"] == request_id)


@pytest.mark.proves("000-4.3-answer-has-the-requests-id", "000-5.4-response-success")
async def test_every_request_has_one_answer_with_its_id(vm: ScriptedVm, session: str) -> None:
    message = {"type": "request", "session_id": session, "method": "get_session", "params": {}}
    ids = [f"msg-{number}" for number in range(50)]
    for request_id in ids:
        await vm.send({**message, "id": request_id})
    for request_id in ids:
        answer = await vm.expect("response", partial(_has_id, request_id))
        assert set(answer) == {"type", "id", "result", "error"}
        assert answer["error"] is None
    assert sorted(one["id"] for one in vm.of_type("response")) == sorted(ids)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("rm_rf", {}, "METHOD_NOT_FOUND"),
        ("", {}, "METHOD_NOT_FOUND"),
        ("usage_report", {}, "METHOD_NOT_FOUND"),
        ("memory_search", {}, "INVALID_PARAMS"),
        ("memory_search", {"query": 7}, "INVALID_PARAMS"),
        ("get_config", {"agent_id": "../x"}, "AGENT_NOT_FOUND"),
        ("mcp_call", {"server": "none", "tool": "t", "arguments": {}}, "MCP_SERVER_NOT_FOUND"),
    ],
)
@pytest.mark.proves("000-5.4-response-failure")
async def test_a_failing_method_is_an_error_response(
    vm: ScriptedVm, session: str, method: str, params: dict[str, Any], code: str
) -> None:
    answer = await vm.request(session, method, **params)
    assert answer["result"] is None
    assert answer["error"]["code"] == code


@pytest.mark.proves("000-8-request-timeout-60s")
async def test_a_request_that_takes_too_long_is_an_error_and_hurts_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.REQUEST_TIMEOUT_S == 60
    stuck = asyncio.Event()

    async def never(*_: object) -> dict[str, Any]:
        stuck.set()
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(Config, "get_config", never)
    defaults = Methods.__init__.__kwdefaults__
    assert defaults is not None
    assert defaults["timeout_s"] == limits.REQUEST_TIMEOUT_S
    monkeypatch.setitem(defaults, "timeout_s", 0.3)
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            slow = asyncio.create_task(vm.request(session, "get_config", agent_id="a"))
            await stuck.wait()
            assert (await vm.request(session, "get_session"))["error"] is None
            assert (await slow)["error"]["code"] == "TIMEOUT"


# --- Reports --------------------------------------------------------------------------------------


@pytest.mark.proves("000-4.4-usage-report")
async def test_a_usage_report_is_counted(user: TestUser, vm: ScriptedVm, session: str) -> None:
    await _report(
        vm, session, "usage_report", model="m-1", tokens_in=10, tokens_out=3, latency_ms=20
    )
    await _report(vm, session, "usage_report", model="m-1", tokens_in=5, tokens_out=2)

    async def used() -> Any:
        return (await user.ok("GET", "/usage?group_by=model"))["items"]

    (total,) = await eventually(used, lambda items: items and items[0]["calls"] == 2)
    assert total["key"] == "m-1"
    assert (total["tokens_in"], total["tokens_out"]) == (15, 5)
    assert total["latency_ms_avg"] == 20


@pytest.mark.proves("000-4.4-audit-log", "000-4.4-no-response")
async def test_an_audit_report_is_in_the_audit_log_and_never_answered(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    await _report(vm, session, "audit_log", event="tool.executed", details={"tool": "search"})
    await _report(vm, session, "no_such_method", event="x")
    await _report(vm, session, "audit_log", event="tool.failed", details={})

    async def audited() -> Any:
        return (await user.ok("GET", "/audit"))["items"]

    entries = await eventually(audited, lambda one: any(e["event"] == "tool.failed" for e in one))
    (entry,) = [one for one in entries if one["event"] == "tool.executed"]
    assert entry["session_id"] == session
    assert entry["details"]["tool"] == "search"
    verified = await control.ok("GET", "/audit/verify", token=ADMIN)
    assert verified["ok"] is True
    assert (await vm.request(session, "get_session"))["error"] is None
    kinds = {message["type"] for message in vm.received}
    assert kinds == {"init", "start_session", "response"}


@pytest.mark.proves("000-4.4-evolution-submit")
async def test_an_evolution_waits_for_a_decision(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    evolution = {"name": "csv-report", "description": "Reports", "quality_score": 0.85}
    await _report(vm, session, "evolution_submit", **evolution, skill_md="# CSV report")

    async def waiting() -> Any:
        return (await user.ok("GET", "/evolutions?state=pending"))["items"]

    (queued,) = await eventually(waiting)
    assert {name: queued[name] for name in evolution} == evolution


@pytest.mark.proves("000-4.4-snapshot-sync")
async def test_a_snapshot_is_there_when_the_session_starts_anew(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    state = {"checkpoint": {"step": 3}, "short_term_memory": {"entries": ["a"]}}
    await _report(vm, session, "snapshot_sync", **state)
    newest = {**state, "checkpoint": {"step": 4}, "conversation_state": {"turn": 2}}
    await _report(vm, session, "snapshot_sync", **newest, file_manifest={"files": []})
    # The reports of a machine are taken in their order: once this one is in, so are the others.
    await _report(vm, session, "audit_log", event="synced", details={})

    async def events() -> Any:
        return [entry["event"] for entry in (await user.ok("GET", "/audit"))["items"]]

    await eventually(events, lambda one: "synced" in one)
    await vm.heartbeat(session)
    await vm.heartbeat()  # the session's process is gone
    await vm.request(session, "get_session")  # and the control plane has read that
    await user.say(session, "go on")
    again = await vm.expect("start_session", lambda one: "snapshot" in one["data"])
    assert again["data"]["session_id"] == session
    assert again["data"]["snapshot"] == {**newest, "file_manifest": {"files": []}}
