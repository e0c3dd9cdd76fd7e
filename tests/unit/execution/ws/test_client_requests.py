"""Questions to the control plane, over lines that break."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.unit.execution.ws.machine import Naps, connected, make_client
from tests.unit.execution.ws.scripted_control import Connection, ScriptedControl
from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.requests import timeout_s

Json = dict[str, Any]


def ask(client: ControlPlaneClient, number: int = 1) -> "asyncio.Task[Any]":
    return asyncio.create_task(client.request("s-1", "memory_search", query=f"q-{number}"))


async def asked(line: Connection, number: int = 1) -> Json:
    return await line.expect("request", lambda one: one["params"]["query"] == f"q-{number}")


async def resumed(
    server: ScriptedControl, results: dict[str, Any], line_number: int = 2
) -> Connection:
    """The line after the break, with its `resume` answered."""
    line = await server.connected(line_number)
    await line.expect("resume")
    await line.send({"type": "resume_response", "results": results})
    return line


@pytest.mark.proves("004-3.1-request-fields", "004-3.1-response-by-id")
async def test_a_request_travels_as_documented_and_its_result_comes_back(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        answer = ask(client)
        request = await asked(server.last)
        assert request == {
            "type": "request",
            "session_id": "s-1",
            "id": request["id"],
            "method": "memory_search",
            "params": {"query": "q-1"},
        }
        await server.last.send(
            {"type": "response", "id": "another", "result": 1, "error": None},
            {"type": "response", "id": request["id"], "result": {"results": []}, "error": None},
            {"type": "response", "id": request["id"], "result": "twice", "error": None},
        )
        assert await answer == {"results": []}


async def test_parameters_may_have_the_names_of_our_own(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        params: Json = {"session_id": "s-2", "method": "x", "self": 1}
        answer = asyncio.create_task(client.request("s-1", "get_session", **params))
        request = await server.last.expect("request")
        assert request["params"] == params
        await server.last.send({"type": "response", "id": request["id"], "result": 7})
        assert await answer == 7


@pytest.mark.proves("004-3.1-error-response")
async def test_an_error_has_its_code(server: ScriptedControl, tmp_path: Path) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        answer = ask(client)
        error = {"code": "SKILL_NOT_FOUND", "message": "no such skill"}
        request = await asked(server.last)
        await server.last.send({"type": "response", "id": request["id"], "error": error})
        with pytest.raises(RequestFailed, match="no such skill") as failure:
            await answer
        assert failure.value.code == "SKILL_NOT_FOUND"


@pytest.mark.proves("004-3.1-request-timeout", "004-3.1-timed-out-is-forgotten")
async def test_a_request_that_nobody_answers_times_out_and_is_forgotten(
    server: ScriptedControl, tmp_path: Path
) -> None:
    hasty = make_client(server.url, tmp_path, request_s=lambda _method: 0.01)
    async with connected(hasty) as client:
        with pytest.raises(TimeoutError):
            await client.request("s-1", "memory_search", query="q-1", timeout=60)
        assert (await server.last.expect("request"))["params"] == {"query": "q-1", "timeout": 60}
        server.last.drop()
        resume = await (await server.connected(2)).expect("resume")
        assert resume == {"type": "resume", "pending_ids": []}


@pytest.mark.proves("004-3.1-request-timeout")
def test_each_method_has_its_time() -> None:
    assert timeout_s("memory_search") == 60
    assert timeout_s("mcp_call") > limits.MCP_TIMEOUT_S_MAX


@pytest.mark.proves("004-3.1-auth-init-resume", "004-3.1-resume-completed")
async def test_a_cut_request_gets_the_result_that_the_control_plane_kept(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        done, failed, odd = ask(client, 1), ask(client, 2), ask(client, 3)
        ids = [(await asked(server.last, number))["id"] for number in (1, 2, 3)]
        server.last.drop()
        line = await server.connected(2)
        resume = await line.expect("resume")
        assert line.received[1] is resume
        assert sorted(resume["pending_ids"]) == sorted(ids)
        error = {"code": "MCP_ERROR", "message": "broken tool"}
        await resumed(
            server,
            {
                ids[0]: {"status": "completed", "data": {"results": [1]}},
                ids[1]: {"status": "failed", "error": error},
                ids[2]: {"status": "failed", "error": ["what"]},
            },
        )
        assert await done == {"results": [1]}
        with pytest.raises(RequestFailed, match="broken tool"):
            await failed
        with pytest.raises(RequestFailed, match="what"):
            await odd


@pytest.mark.parametrize(
    "entry", [{"status": "not_found"}, {"status": "lost"}, None, "x", ["y"], 3]
)
@pytest.mark.proves("004-3.1-resume-not-found")
async def test_a_request_that_was_lost_is_sent_again_with_its_own_id(
    server: ScriptedControl, tmp_path: Path, naps: Naps, entry: Any
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        answer = ask(client)
        request = await asked(server.last)
        server.last.drop()
        results = {} if entry is None else {request["id"]: entry}
        line = await resumed(server, results)
        assert await asked(line) == request
        await line.send({"type": "response", "id": request["id"], "result": "again"})
        assert await answer == "again"


async def test_a_request_that_still_runs_is_waited_for(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        answer = ask(client)
        request = await asked(server.last)
        server.last.drop()
        line = await resumed(server, {request["id"]: {"status": "running"}})
        await line.send({"type": "response", "id": request["id"], "result": "late"})
        assert await answer == "late"
        assert line.of_type("request") == []


async def test_a_new_request_fails_at_once_while_the_line_is_down(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        naps.hold()
        server.last.drop()
        await until(lambda: not client.online)
        with pytest.raises(ConnectionError):
            await client.request("s-1", "memory_search", query="q")


@pytest.mark.proves("000-6-pending-fails-after-all-retries", "004-3.1-retries-exhausted")
async def test_waiting_requests_fail_when_the_documented_attempts_are_used_up(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        answer = ask(client)
        await asked(server.last)
        server.refuse = [4500] * 8
        server.last.drop()
        with pytest.raises(ConnectionError, match="unreachable"):
            await answer
        assert naps.taken[:8] == [1, 2, 4, 8, 16, 30, 30, 30]
        line = await server.connected(10)
        assert (await line.expect("resume"))["pending_ids"] == []


async def test_closing_fails_what_still_waits(server: ScriptedControl, tmp_path: Path) -> None:
    client = make_client(server.url, tmp_path)
    async with connected(client):
        answer = ask(client)
        await asked(server.last)
    with pytest.raises(ConnectionError, match="closed"):
        await answer


async def test_only_so_many_requests_are_under_way(server: ScriptedControl, tmp_path: Path) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        waiting = [ask(client, number) for number in range(limits.REQUESTS_IN_FLIGHT_MAX - 1)]
        await asyncio.sleep(0)
        with pytest.raises(RequestFailed) as failure:
            await client.request("s-1", "memory_search", query="one more")
        assert failure.value.code == "TOO_MANY_REQUESTS"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_request_that_fits_no_frame_is_refused_here(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        with pytest.raises(RequestFailed) as failure:
            await client.request("s-1", "mcp_call", arguments="x" * limits.FRAME_BYTES_MAX)
        assert failure.value.code == "REQUEST_TOO_LARGE"
