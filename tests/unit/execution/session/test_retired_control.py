"""Sessions that were let go, and the real control plane: whoever speaks to one is answered."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.clock import Clock
from tests.support.control import TestUser, running
from tests.support.sse import SseReader
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_retired import at_rest
from tests.unit.execution.ws.machine import make_client
from trunkline.execution.line import MACHINE, MachineSide
from trunkline.execution.session.manager import SESSION_IDLE_S, SESSIONS_RETIRED_MAX
from trunkline.execution.ws.client import ControlPlaneClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUND_S = 60


@pytest_asyncio.fixture(loop_scope="module")
async def user(tmp_path: Path) -> AsyncIterator[TestUser]:
    async with running(tmp_path / "data") as control:
        yield await control.user()


@pytest_asyncio.fixture(loop_scope="module")
async def line(user: TestUser, tmp_path: Path) -> AsyncIterator[ControlPlaneClient]:
    """The real one, in the place of the one that records."""
    made = await user.schedule()
    credentials = {"user_id": user.id, "ticket": made["ticket"], "token": made["token"]}
    client = make_client(made["ws_url"], tmp_path / "out", None, **credentials)
    yield client
    await client.close()


async def answer(user: TestUser, reader: SseReader, session_id: str, message: str) -> Any:
    turn_id = await user.say(session_id, message)

    def ends() -> list[dict[str, Any]]:
        events = [one.json for one in reader.events if one.id is not None]
        of_turn = [one for one in events if one.get("turn_id") == turn_id]
        return [one for one in of_turn if one["type"].startswith("execution_")]

    await reader.until(lambda _: bool(ends()), "the end of the turn")
    [end] = ends()
    return end.get("content") or end


@pytest.mark.parametrize("stand_ins_max", [SESSIONS_RETIRED_MAX, 0])
async def test_a_session_that_was_let_go_answers_its_next_message_and_misses_nothing(
    user: TestUser,
    line: ControlPlaneClient,
    make_manager: MakeManager,
    stand_ins_max: int,
) -> None:
    """Brought back by the message itself; or, where nothing stands in for it any more, started
    again by the control plane."""
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0, retired_max=stand_ins_max)
    line.message_handlers[MACHINE] = manager.handlers()
    machine = MachineSide(
        active_sessions=manager.names, open_turns=manager.turns, initialized=manager.initialized
    )
    async with asyncio.timeout(BOUND_S):
        await line.connect(machine)
        session_id = await user.session()
        async with user.reader(session_id) as reader:
            assert await answer(user, reader, session_id, "remember me") == "remembered"
            for number in range(2):
                session = manager.active_sessions[session_id]
                clock.now += SESSION_IDLE_S
                await at_rest(manager, session)
                await manager.snapshots.close()
                await manager.snapshots.take(session)
                manager.rest_idle()
                assert manager.names() == []
                assert (
                    await answer(user, reader, session_id, f"hello {number}") == f"hello {number}"
                )
            assert reader.ids == list(range(1, len(reader.ids) + 1))
            assert "lost_events" not in str(reader.events)
