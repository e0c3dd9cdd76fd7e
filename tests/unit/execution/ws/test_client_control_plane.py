"""The line to the real control plane: cut, swallowed, killed; what readers have is complete."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import ControlProcess, TestUser, running
from tests.support.eventually import WAIT_S, eventually, until
from tests.support.metrics import metric
from tests.support.sse import SseReader
from tests.unit.execution.ws.machine import USAGE, Naps, connected, event, make_client, text
from tests.unit.execution.ws.proxy import Proxy
from trunkline.execution.errors import RequestFailed
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.login import LINE_LIMITED_DELAY_S
from trunkline.execution.ws.uplink import PACE_BURST_FRAMES, PACE_FRAMES_PER_S

pytestmark = pytest.mark.slow


@pytest.fixture
async def user(tmp_path: Path) -> AsyncIterator[TestUser]:
    async with running(tmp_path / "data") as control:
        yield await control.user()


async def machine_of(
    user: TestUser, folder: Path, url: str | None = None, naps: Naps | None = None
) -> ControlPlaneClient:
    scheduled = await user.schedule()
    return make_client(
        url or scheduled["ws_url"],
        folder,
        naps,
        user_id=user.id,
        ticket=scheduled["ticket"],
        token=scheduled["token"],
    )


async def started(user: TestUser, client: ControlPlaneClient) -> str:
    """A session that this machine was told to start."""
    news: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    client.message_handlers["__vm__"] = {"start_session": news.put_nowait}
    session_id = await user.session()
    async with asyncio.timeout(WAIT_S):
        assert (await news.get())["session_id"] == session_id
    client.register_session(session_id, {})
    return session_id


def kinds(reader: SseReader) -> list[str]:
    return [one.json["type"] for one in reader.events if one.id is not None]


def whole(count: int) -> str:
    return "".join(f"{number} " for number in range(count))


async def complete(reader: SseReader, count: int) -> None:
    """Every word once and in order, then the end, and nobody had to be told of a loss."""
    await reader.until_type("execution_complete")
    assert "".join(reader.texts()) == whole(count)
    assert "lost_events" not in str(reader.events)
    assert "resync" not in [one.name for one in reader.events]


async def test_what_a_session_says_reaches_its_reader(user: TestUser, tmp_path: Path) -> None:
    async with connected(await machine_of(user, tmp_path / "out")) as client:
        session = await started(user, client)
        async with user.reader(session) as reader:
            for number in range(200):
                client.send_sse_event(session, text(f"{number} "))
                await asyncio.sleep(0)
            client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
            await complete(reader, 200)


@pytest.mark.parametrize("loses", [False, True], ids=["cut", "swallowed, then cut"])
async def test_a_line_cut_in_the_middle_of_a_stream_loses_and_repeats_nothing(
    user: TestUser, tmp_path: Path, loses: bool
) -> None:
    async with Proxy(user.ws_url).listen() as proxy:
        client = await machine_of(user, tmp_path / "out", proxy.url)
        async with connected(client):
            session = await started(user, client)
            async with user.reader(session) as reader:
                for number in range(3_000):
                    client.send_sse_event(session, text(f"{number} "))
                    if number % 10 == 0:
                        await asyncio.sleep(0.001)
                    if number % 500 == 200:
                        proxy.is_swallowing = loses
                    if number % 500 == 300:
                        proxy.cut()
                client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
                await complete(reader, 3_000)
                assert bool(proxy.swallowed) is loses


@pytest.mark.proves("004-10-events", "004-1-one-line-for-all-sessions")
async def test_ten_sessions_keep_talking_through_an_outage(user: TestUser, tmp_path: Path) -> None:
    naps = Naps()
    async with Proxy(user.ws_url).listen() as proxy:
        client = await machine_of(user, tmp_path / "out", proxy.url, naps)
        async with connected(client):
            sessions = [await started(user, client) for _ in range(10)]
            readers = [await user.reader(session).open() for session in sessions]
            for number in range(300):
                if number == 100:
                    naps.hold()
                    proxy.cut()
                if number == 250:
                    naps.release()
                for session in sessions:
                    client.send_sse_event(session, text(f"{number} "))
                await asyncio.sleep(0)
            for session in sessions:
                client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
            for reader in readers:
                await complete(reader, 300)
                await reader.leave()


async def test_a_control_plane_that_is_killed_gets_everything_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with ControlProcess(tmp_path / "data") as control:
        user = await control.user()
        client = await machine_of(user, tmp_path / "out", user.ws_url)
        async with connected(client):
            session = await started(user, client)
            reader = await user.reader(session).open()
            for number in range(400):
                client.send_sse_event(session, text(f"{number} "))
                if number == 200:
                    await reader.until(lambda one: bool(one.texts()))
                    await control.kill()
                await asyncio.sleep(0)
            client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
            await reader.leave()
            await control.start()
            async with user.reader(session) as again:
                await complete(again, 400)


TALKER = """
import asyncio, json, sys
from pathlib import Path
from trunkline.execution.line import MachineSide
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.outbox import Outbox

async def main(url, user_id, token, session, folder):
    client = ControlPlaneClient(url, user_id, None, token, outbox=Outbox(Path(folder)))
    await client.connect(MachineSide())
    number = 0
    while True:
        data = {"type": "text_chunk", "content": f"{number} ", "turn_id": "t-1"}
        client.send_sse_event(session, json.dumps(data))
        number += 1
        await asyncio.sleep(0.001)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_a_killed_daemon_had_said_is_complete_when_it_is_back(
    user: TestUser, tmp_path: Path
) -> None:
    scheduled = await user.schedule()
    folder = tmp_path / "out"
    options = {"user_id": user.id, "token": scheduled["token"]}
    async with connected(make_client(user.ws_url, folder, ticket=None, **options)) as client:
        session = await started(user, client)
    async with user.reader(session) as reader:
        arguments = (user.ws_url, user.id, scheduled["token"], session, str(folder))
        daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", TALKER, *arguments)
        await reader.until(lambda one: "100 " in "".join(one.texts()))
        daemon.kill()
        await daemon.wait()
        async with connected(make_client(user.ws_url, folder, ticket=None, **options)) as client:
            client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
            await reader.until_type("execution_complete")
        said = "".join(reader.texts())
        assert said == whole(said.count(" "))
        assert "lost_events" not in str(reader.events)


async def test_a_machine_that_is_told_it_is_too_fast_still_delivers_everything(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", rate_limit_per_minute=40) as control:
        user, naps = await control.user(), Naps()
        async with connected(await machine_of(user, tmp_path / "out", naps=naps)) as client:
            session = await started(user, client)
            async with user.reader(session) as reader:
                for number in range(300):
                    client.send_sse_event(session, text(f"{number} "))
                    if number % 5 == 0:
                        # Somebody waits for the answer to a question: it goes at once.
                        client.send_sse_event(session, event("approval_resolved", request_id="q"))
                    await asyncio.sleep(0.001)
                client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
                await complete(reader, 300)
                assert LINE_LIMITED_DELAY_S in naps.taken


async def test_a_hundred_streaming_sessions_stay_within_the_budget(
    user: TestUser, tmp_path: Path
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with connected(await machine_of(user, tmp_path / "out")) as client:
        sessions = [await started(user, client) for _ in range(100)]
        for number in range(200):
            for session in sessions:
                client.send_sse_event(session, text(f"{number} "))
            await asyncio.sleep(0.002)
        for session in sessions:
            client.send_sse_event(session, event("execution_complete", turn_id="t-1"))
        for session in sessions:
            async with user.reader(session) as reader:
                await complete(reader, 200)
        frames = await metric(user.control, "ws_messages_received_total")
    allowed = PACE_BURST_FRAMES + PACE_FRAMES_PER_S * (loop.time() - began)
    assert 0 < frames <= allowed + 2  # `auth` and `resume` are not asked to wait


async def test_questions_and_reports_reach_the_services(user: TestUser, tmp_path: Path) -> None:
    async with connected(await machine_of(user, tmp_path / "out")) as client:
        session = await started(user, client)
        client.fire_and_forget(session, "memory_write", content="Ada likes green tea")
        for _ in range(20):
            client.fire_and_forget(session, "usage_report", **USAGE)

        async def search() -> Any:
            found = await client.request(session, "memory_search", query="green tea")
            return found["results"]

        found = await eventually(search)
        assert found[0]["content"] == "Ada likes green tea"

        async def usage() -> str:
            return json.dumps(await user.ok("GET", "/usage?group_by=model"))

        await eventually(usage, lambda seen: '"tokens_in": 200' in seen)
        with pytest.raises(RequestFailed) as failure:
            await client.request(session, "get_skill_package", skill_id="no-such-skill")
        assert failure.value.code == "SKILL_NOT_FOUND"


@pytest.mark.proves("004-10-usage")
async def test_reports_count_once_however_often_the_line_is_cut(
    user: TestUser, tmp_path: Path
) -> None:
    async with Proxy(user.ws_url).listen() as proxy:
        client = await machine_of(user, tmp_path / "out", proxy.url)
        async with connected(client):
            session = await started(user, client)
            for number in range(60):
                client.fire_and_forget(session, "usage_report", **USAGE)
                await asyncio.sleep(0.002)
                if number % 10 == 5:
                    proxy.is_swallowing = number % 20 == 5
                    await asyncio.sleep(0.005)
                    proxy.cut()
            await until(
                lambda: bool((tmp_path / "out" / "reports.jsonl").read_bytes()),
                lambda owed: not owed,
            )
            (sums,) = (await user.ok("GET", "/usage?group_by=model"))["items"]
            assert sums["tokens_in"] == 600


async def test_a_message_reaches_its_session_after_the_line_was_cut(
    user: TestUser, tmp_path: Path
) -> None:
    naps = Naps()
    async with Proxy(user.ws_url).listen() as proxy:
        client = await machine_of(user, tmp_path / "out", proxy.url, naps)
        running: list[str] = []
        turns: list[str] = []
        sides = {"active_sessions": lambda: running, "open_turns": lambda: turns}
        async with connected(client, **sides):
            session = await started(user, client)
            said: list[str] = []
            client.register_session(
                session, {"user_message": lambda data: said.append(data["message"])}
            )
            running.append(session)
            await user.say(session, "one")

            async def heard() -> list[str]:
                return said

            await eventually(heard, lambda seen: seen == ["one"])
            turn = (await user.ok("GET", f"/sessions/{session}/snapshot"))["turns"][0]["id"]
            turns.append(turn)
            naps.hold()
            proxy.cut()
            await user.say(session, "two")
            naps.release()
            await eventually(heard, lambda seen: seen == ["one", "two"])
