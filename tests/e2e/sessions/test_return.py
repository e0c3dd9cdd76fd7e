"""Machines that come back, written as document 004 §3.1 sketches its client."""

import asyncio
import json
from functools import partial
from typing import Any

import aiohttp
import pytest

from tests.support.control import Control, TestUser
from tests.support.eventually import WAIT_S, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _is(path: tuple[str, ...], value: str, message: dict[str, Any]) -> bool:
    found: Any = message
    for key in path:
        found = found[key]
    return bool(found == value)


async def turns(user: TestUser, session: str) -> list[tuple[str, str, str | None]]:
    snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
    return [(one["message"], one["state"], one["answer"]) for one in snapshot["turns"]]


async def test_a_client_that_expects_resume_response_next_gets_it_and_then_what_was_held(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await vm.expect("start_session")
    await vm.drop()
    for text in ("one", "two"):
        await user.say(session, text)
    url = f"{user.ws_url}?user_id={user.id}"
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as line:

        async def receive() -> dict[str, Any]:
            async with asyncio.timeout(WAIT_S):
                received: dict[str, Any] = json.loads(await line.receive_str())
                return received

        await line.send_str(json.dumps({"type": "auth", "token": vm.token}))
        assert (await receive())["type"] == "init"
        await line.send_str(json.dumps({"type": "resume", "pending_ids": ["msg-1"]}))
        answer = await receive()
        assert answer == {
            "type": "resume_response",
            "results": {"msg-1": {"status": "not_found"}},
        }
        said = [(await receive())["data"]["message"] for _ in range(2)]
        assert said == ["one", "two"]


async def test_a_turn_that_died_with_its_daemon_ends_and_answers_stay_with_their_questions(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await vm.heartbeat(session)
    await user.say(session, "one")
    await vm.expect("user_message")
    await vm.drop()
    async with user.again(vm) as again:
        await again.heartbeat()  # it runs nothing any more
        await user.say(session, "two")
        await again.expect("start_session")
        await again.expect("user_message")
        await again.event(session, type="execution_complete", content="answer two")
        await eventually(
            lambda: turns(user, session),
            lambda seen: seen == [("one", "failed", None), ("two", "completed", "answer two")],
        )


async def test_a_vm_that_starts_afresh_ends_what_it_was_doing(control: Control) -> None:
    user = await control.user()
    scheduled = await user.schedule()
    vm = await user.vm()
    session = await user.session()
    await user.say(session, "one")
    await vm.expect("user_message")
    await vm.drop()
    assert scheduled["vm_id"]
    async with user.reader(session) as reader:
        machine = (await user.ok("GET", f"/sessions/{session}"))["machine_id"]
        renewed = await user.ok("POST", f"/machines/{machine}/token")
        again = user.again(vm)
        again.token, again.url = renewed["token"], f"{again.url}&ticket={renewed['ticket']}"
        async with again:
            error = await reader.until_type("execution_error")
            assert error["code"] == "MACHINE_RESTARTED"


async def test_a_request_that_cannot_be_read_is_answered_all_the_same(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        odd: list[dict[str, Any]] = [
            {"params": None},
            {"params": []},
            {"method": 7},
            {"session_id": {}},
        ]
        for number, broken in enumerate(odd):
            request = {"type": "request", "id": f"r{number}", "session_id": session}
            await vm.send({**request, "method": "get_config", **broken})
            answer = await vm.expect("response", partial(_is, ("id",), f"r{number}"))
            assert answer["result"] is None
            assert answer["error"]["code"] == "INVALID_REQUEST"


async def test_the_history_of_a_message_fits_into_its_frame(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        for number in range(4):
            text = f"{number}" * 300_000
            await user.say(session, text)
            await vm.expect("user_message", partial(_is, ("data", "message"), text))
            await vm.event(session, type="execution_complete", content="ok")
            await eventually(
                lambda: turns(user, session), lambda seen: {one[1] for one in seen} == {"completed"}
            )
        await user.say(session, "last")
        message = await vm.expect("user_message", lambda one: one["data"]["message"] == "last")
        history = message["data"]["history"]
        assert len(json.dumps(history)) < 600_000
        assert history[-1] == {"role": "assistant", "content": "ok"}
        assert history[0]["content"][0] == "3"
