"""Faults of ours while a MyAgent client waits: it is told, and its connection goes on."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import aiohttp
import pytest

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.faults import broken
from tests.support.myagent import MyAgentClient, client_of
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import ScriptedWeb, web_url
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.tuning import Tuning

FaultOf = Callable[[LocalControl], AbstractContextManager[None]]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return Tuning(myagent_sessions_max=2, ring_bytes_max=0)


@pytest.mark.parametrize(
    "fault_of",
    [
        pytest.param(lambda one: one.records.before("myagent_runs", broken), id="position"),
        pytest.param(lambda one: one.disk.unreadable(), id="log"),
    ],
)
async def test_a_session_that_could_not_be_followed_is_followed_the_next_time(
    control: LocalControl, user: TestUser, vm: ScriptedVm, fault_of: FaultOf
) -> None:
    session = await user.session()
    async with user.reader(session) as reader:
        await vm.text(session, "one", "two", "three")  # memory has only the last
        await reader.until_text("three")
    async with client_of(user) as client:
        with fault_of(control):
            await client.say(session, "first")
            fault = await client.fault("INTERNAL_ERROR")
        assert fault["event"] == "system.error"
        await client.say(session, "second")
        await vm.expect("user_message")
        await vm.text(session, "heard")
        await client.expect("agent.partial_answer")
        assert client.text(session) == "heard"


async def test_a_session_that_has_ended_makes_room_for_one_that_has_not(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as client:
        ended = await client.create_session()
        await user.ok("DELETE", f"/sessions/{ended}")
        last = await client.expect("agent.session_end")
        for _ in range(2):
            await client.reconnect(ended, last_event_id=last["event_id"])
        await client.create_session()
        await client.create_session()
        await client.send("user.create_session")
        await client.fault("LIMIT_REACHED")


async def cookie_of(user: TestUser) -> str:
    """What a browser has after its login; a bearer token has no end."""
    link = await user.ok("POST", f"/users/{user.id}/login-link")
    async with (
        aiohttp.ClientSession() as http,
        http.get(link["url"], allow_redirects=False) as answer,
    ):
        return answer.cookies[user.control.cookie].value


async def test_a_connection_ends_with_its_token(tmp_path: Path) -> None:
    clock = FakeClock(now_ms())
    async with running(tmp_path / "other", clock=clock) as control:
        user = await control.user()
        cookie = await cookie_of(user)
        page = await MyAgentClient(f"{control.url}/ws/myagent", cookie).connect()
        web = await ScriptedWeb(web_url(user, token=cookie)).connect()
        await web.expect("agents_list")
        async with client_of(user) as program:
            clock.advance(limits.COOKIE_LIFE_S + 1)
            assert (await page.closed(), await web.closed()) == (1008, 1008)
            await program.answered()
        await page.leave()
        await web.leave()
