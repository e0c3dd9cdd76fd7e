"""What a session's process asks and reports, and how it is answered."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_manager import start
from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.session import ipc
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process_requests import ProcessRequests, Tell

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def asked(line: RecordingLine, command: str) -> Json:
    line.say("s-1", f"request {command}")
    answer: Json = json.loads((await line.end_of("s-1"))["content"])
    return answer


@pytest.mark.proves("004-4.5-requests-by-id")
async def test_a_request_is_passed_on_with_its_session(
    manager: SessionManager, line: RecordingLine
) -> None:
    async def answer(session_id: str, method: str, params: Json) -> Any:
        return [session_id, method, params]

    line.answer = answer
    await manager.start_session(start("s-1"))
    found = await asked(line, 'memory_search {"query": "x"}')
    assert found == {"result": ["s-1", "memory_search", {"query": "x"}]}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestFailed("SKILL_NOT_FOUND", "no such skill"), "SKILL_NOT_FOUND"),
        (TimeoutError(), "TIMEOUT"),
        (ConnectionError("broken"), "CONNECTION_LOST"),
        (RuntimeError("a fault"), "INTERNAL_ERROR"),
    ],
)
@pytest.mark.proves("004-4.5-requests-by-id")
async def test_a_request_that_fails_is_answered_with_a_code(
    manager: SessionManager, line: RecordingLine, error: Exception, code: str
) -> None:
    async def answer(_session_id: str, _method: str, _params: Json) -> Any:
        raise error

    line.answer = answer
    await manager.start_session(start("s-1"))
    assert (await asked(line, "get_skill_package"))["error"] == code


async def test_without_a_line_a_request_fails_at_once(
    manager: SessionManager, line: RecordingLine
) -> None:
    line.online = False
    await manager.start_session(start("s-1"))
    assert (await asked(line, "memory_search"))["error"] == "CONNECTION_LOST"


async def test_a_method_of_the_machine_is_answered_here_and_tells_how_far_it_is(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    async def model(params: Json, tell: Tell) -> Any:
        tell("loading")
        return {"base_url": "http://127.0.0.1:1", "model": "m", **params}

    line.online = False  # it needs no line
    manager = make_manager(local={"local.model": model})
    await manager.start_session(start("s-1"))
    found = await asked(line, "local.model")
    assert found == {"result": {"base_url": "http://127.0.0.1:1", "model": "m"}}
    assert line.events("s-1", "thinking")[0]["content"] == "loading"


async def test_an_unknown_method_of_the_machine_is_not_sent_anywhere(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    assert (await asked(line, "local.nothing"))["error"] == "METHOD_NOT_FOUND"


@pytest.mark.proves("004-4.5-events-and-reports")
async def test_reports_are_passed_on(manager: SessionManager, line: RecordingLine) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "report gpt")
    await line.end_of("s-1")
    assert ("s-1", "usage_report", {"model": "gpt"}) in line.reports


async def test_too_many_requests_at_once_are_refused_and_those_of_the_dead_are_dropped() -> None:
    line = RecordingLine()
    replies: list[ipc.Response | ipc.Progress] = []
    forever = asyncio.Event()
    ended: list[str] = []

    async def answer(_session_id: str, method: str, _params: Json) -> Any:
        try:
            await forever.wait()
        finally:
            ended.append(method)

    line.answer = answer
    requests = ProcessRequests("s-1", line, {}, replies.append)
    for number in range(limits.SESSION_REQUESTS_MAX + 1):
        requests.take(ipc.Request(id=str(number), method="m"))
    [refused] = replies
    assert isinstance(refused, ipc.Response)
    assert refused.id == str(limits.SESSION_REQUESTS_MAX)
    assert refused.error is not None
    assert refused.error.code == "TOO_MANY_REQUESTS"
    await asyncio.sleep(0)  # they are under way
    requests.drop()
    await until(lambda: len(ended), lambda count: count == limits.SESSION_REQUESTS_MAX)
    assert len(replies) == 1
