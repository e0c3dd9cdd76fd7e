"""The methods of an execution plane: results, errors, and what bad calls do, on both databases."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select
from structlog.testing import capture_logs

from tests.support.mcp_server import running_server
from tests.unit.control.services.conftest import World, add_agent
from tests.unit.control.services.test_skills import skill_zip
from trunkline import limits
from trunkline.control.errors import Timeout, TrunklineError
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.mcp_servers import McpServerInput
from trunkline.control.services.methods import Caller, Methods
from trunkline.control.services.skills import Skills
from trunkline.control.store import service_schema


async def code_of(services: Services, caller: Caller, method: str, params: Any) -> str:
    with pytest.raises(TrunklineError) as caught:
        await services.methods.request(caller, method, params)
    return caught.value.code


async def count(world: World, table: Any) -> int:
    async with world.store.read() as connection:
        return await connection.scalar(select(func.count()).select_from(table)) or 0


async def test_get_skill_package_honours_the_callers_org(world: World, services: Services) -> None:
    await services.skills.import_zip(world.org, skill_zip())
    request = services.methods.request
    answer = await request(world.caller, "get_skill_package", {"skill_id": "pdf"})
    assert answer["package"]["skill_id"] == "pdf"
    same = {"skill_id": "pdf", "version": "latest", "unknown": 1}
    assert await request(world.caller, "get_skill_package", same) == answer
    bob = Caller(world.bob.user_id, world.other_org, "m", world.bobs_session)
    assert await code_of(services, bob, "get_skill_package", same) == "SKILL_NOT_FOUND"


async def test_memory_is_written_and_searched_for_the_caller(
    world: World, services: Services
) -> None:
    await services.methods.notify(
        world.caller, "memory_write", {"content": "用户喜欢深色主题", "metadata": {"k": 1}}
    )
    answer = await services.methods.request(
        world.caller, "memory_search", {"query": "主题", "top_k": 100}
    )
    (hit,) = answer["results"]
    assert set(hit) == {"content", "score", "metadata"}
    assert hit["content"] == "用户喜欢深色主题"
    assert hit["metadata"] == {"k": 1, "session_id": world.session}
    bob = Caller(world.bob.user_id, world.other_org, "m", world.bobs_session)
    assert await services.methods.request(bob, "memory_search", {"query": "主题"}) == {
        "results": []
    }


async def test_mcp_call_reaches_a_real_server(world: World, services: Services) -> None:
    async with running_server() as server:
        given = McpServerInput(name="calc", type="remote", url=server.url)
        await services.mcp_servers.add(world.org, None, given)
        params = {"server": "calc", "tool": "add", "arguments": {"a": 2, "b": 3}}
        answer = await services.methods.request(world.caller, "mcp_call", params)
        assert answer["result"]["structuredContent"] == {"result": 5}
        failing = {"server": "calc", "tool": "fail", "arguments": {"message": "x"}}
        assert await code_of(services, world.caller, "mcp_call", failing) == "MCP_ERROR"
        unknown = {**params, "server": "nothing"}
        assert await code_of(services, world.caller, "mcp_call", unknown) == "MCP_SERVER_NOT_FOUND"
        await services.close()


async def test_get_config_and_get_session_give_only_what_is_the_callers(
    world: World, services: Services
) -> None:
    request = services.methods.request
    config = await request(world.caller, "get_config", {"agent_id": world.agent})
    assert config["config"]["name"] == "helper"
    session = await request(world.caller, "get_session", {"session_id": world.session})
    assert session["session"]["id"] == world.session
    assert await request(world.caller, "get_session", {}) == session
    foreign = await add_agent(world.store, world.bob)
    caller = world.caller
    assert await code_of(services, caller, "get_config", {"agent_id": foreign}) == "AGENT_NOT_FOUND"
    theirs = {"session_id": world.bobs_session}
    assert await code_of(services, caller, "get_session", theirs) == "SESSION_NOT_FOUND"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("get_skill_package", {}),
        ("get_skill_package", {"skill_id": 5}),
        ("get_skill_package", {"skill_id": None}),
        ("get_skill_package", {"skill_id": "a", "version": []}),
        ("memory_search", {"query": None}),
        ("memory_search", {"query": "x", "top_k": "many"}),
        ("memory_search", {"query": "x", "top_k": 1.5}),
        ("mcp_call", {"server": "a"}),
        ("mcp_call", {"server": "a", "tool": "b", "arguments": [1]}),
        ("get_config", {"agent_id": {}}),
        ("get_session", {"session_id": 7}),
    ],
)
async def test_bad_params_have_their_own_code(
    sqlite_services: Services, method: str, params: dict[str, Any]
) -> None:
    caller = Caller("u", "o", "m", "s")
    assert await code_of(sqlite_services, caller, method, params) == "INVALID_PARAMS"


@pytest.mark.parametrize("method", ["", "snapshot_sync", "__init__", "x" * 10_000])
async def test_an_unknown_method_has_its_own_code(sqlite_services: Services, method: str) -> None:
    caller = Caller("u", "o", "m", "s")
    assert await code_of(sqlite_services, caller, method, {}) == "METHOD_NOT_FOUND"


class StuckSkills(Skills):
    async def get_package(self, *_: Any, **__: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError


class BrokenSkills(Skills):
    async def get_package(self, *_: Any, **__: Any) -> dict[str, Any]:
        raise RuntimeError("password=hunter2")


def with_skills(services: Services, skills: Skills, timeout_s: float = 60) -> Methods:
    services.skills = skills
    return Methods(services, {}, timeout_s=timeout_s)


@pytest.mark.proves("000-8-request-timeout-60s", "000-8-timeout-per-method")
async def test_a_slow_method_is_a_timeout(sqlite_services: Services) -> None:
    methods = with_skills(sqlite_services, object.__new__(StuckSkills), timeout_s=0.01)
    with pytest.raises(Timeout) as caught:
        await methods.request(Caller("u", "o", "m", "s"), "get_skill_package", {"skill_id": "a"})
    assert caught.value.code == "TIMEOUT"


async def test_an_unexpected_failure_is_logged_with_its_session_and_not_told(
    sqlite_services: Services,
) -> None:
    methods = with_skills(sqlite_services, object.__new__(BrokenSkills))
    with capture_logs() as logs, pytest.raises(TrunklineError) as caught:
        await methods.request(
            Caller("u", "o", "machine-7", "session-7"), "get_skill_package", {"skill_id": "a"}
        )
    assert caught.value.code == "INTERNAL_ERROR"
    assert "hunter2" not in caught.value.message
    assert logs[0]["session_id"] == "session-7"
    assert logs[0]["machine_id"] == "machine-7"
    assert logs[0]["log_level"] == "error"


async def test_usage_reports_keep_what_else_they_say(world: World, services: Services) -> None:
    params = {
        "model": "claude",
        "tokens_in": 5,
        "tokens_out": 7,
        "latency_ms": 12,
        "cache_read_tokens": 3,
        "timestamp": "2026-01-01T00:00:00",
        "details": {"tier": "fast"},
    }
    await services.methods.notify(world.caller, "usage_report", params)
    async with world.store.read() as connection:
        row = (await connection.execute(select(service_schema.usage))).one()
    assert (row.model, row.tokens_in, row.tokens_out, row.latency_ms) == ("claude", 5, 7, 12)
    assert (row.user_id, row.session_id) == (world.ann.user_id, world.session)
    assert row.details == {
        "cache_read_tokens": 3,
        "timestamp": "2026-01-01T00:00:00",
        "tier": "fast",
    }


async def test_audit_entries_name_the_machine_that_sent_them(
    world: World, services: Services
) -> None:
    await services.methods.notify(
        world.caller, "audit_log", {"event": "bash", "details": {"cmd": "ls", "machine_id": "lie"}}
    )
    (entry,) = (await services.audit.page(world.ann, Paging())).items
    assert (entry.event, entry.session_id) == ("bash", world.session)
    assert entry.details == {"cmd": "ls", "machine_id": "machine-1"}


async def test_evolutions_are_taken_in_both_documented_shapes(
    world: World, services: Services
) -> None:
    fields = {"name": "a", "description": "b", "skill_md": "c", "quality_score": 1}
    await services.methods.notify(world.caller, "evolution_submit", fields)
    await services.methods.notify(world.caller, "evolution_submit", {"candidate": fields})
    assert len((await services.evolutions.page(world.ann, Paging())).items) == 2


async def test_snapshots_are_kept_as_sent(world: World, services: Services) -> None:
    params = {"checkpoint": {"a": 1}, "short_term_memory": {"b": 2}, "extra": [3]}
    await services.methods.notify(world.caller, "snapshot_sync", params)
    assert await services.snapshots.latest(world.session) == params


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("usage_report", {}),
        ("usage_report", {"model": "m", "tokens_in": -1, "tokens_out": 0}),
        ("usage_report", {"model": "m", "tokens_in": 1e300, "tokens_out": 0}),
        ("usage_report", {"model": "m\x00", "tokens_in": 1, "tokens_out": 0}),
        ("audit_log", {"event": 5}),
        ("audit_log", {"event": "x", "details": "text"}),
        ("audit_log", {"event": "x", "details": {"a": "y" * 100_000}}),
        ("evolution_submit", {"name": "x"}),
        ("evolution_submit", {"candidate": "x"}),
        ("snapshot_sync", {"checkpoint": "text"}),
        ("memory_write", {"content": ""}),
        ("memory_write", {"content": "a\x00"}),
        ("memory_write", {}),
    ],
)
async def test_a_bad_notification_is_logged_and_counted_and_nothing_else(
    world: World, services: Services, method: str, params: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        await services.methods.notify(world.caller, method, params)
    assert services.methods.refused == {method: 1}
    (entry,) = logs
    assert entry["log_level"] == "warning"
    assert (entry["method"], entry["session_id"]) == (method, world.session)
    for table in (
        service_schema.usage,
        service_schema.audit,
        service_schema.evolutions,
        service_schema.snapshots,
        service_schema.memories,
    ):
        assert await count(world, table) == 0


async def test_unknown_notifications_are_counted_under_one_name(
    sqlite_services: Services,
) -> None:
    caller = Caller("u", "o", "m", "s")
    for number in range(5):
        await sqlite_services.methods.notify(caller, f"made-up-{number}", {})
    await sqlite_services.methods.notify(caller, "get_config", {})
    assert sqlite_services.methods.refused == {"unknown": 6}


async def test_a_notification_of_a_session_that_is_gone_does_not_raise(
    sqlite_services: Services,
) -> None:
    caller = Caller("u", "o", "m", "no-such-session")
    with capture_logs() as logs:
        await sqlite_services.methods.notify(caller, "snapshot_sync", {"checkpoint": {}})
    assert logs[0]["log_level"] == "error"
    assert sqlite_services.methods.refused == {"snapshot_sync": 1}


@pytest.mark.proves("000-8-request-timeout-60s")
def test_the_default_time_limit_is_the_documented_one() -> None:
    assert limits.REQUEST_TIMEOUT_S == 60
