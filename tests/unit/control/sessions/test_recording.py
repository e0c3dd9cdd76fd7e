"""Records follow events: in order within a session, and nobody waits for what is not theirs."""

import asyncio
import inspect

import pytest

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.recording import Recording, Work
from trunkline.control.tasks import Tasks

ANN = Principal("ann", "org", "member")
BOB = Principal("bob", "org", "member")
ADMIN = Principal("root", "org", "org_admin")


class Desk:
    """Work that is done when its gate is opened, and the order in which it was."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.recording = Recording(self.tasks)
        self.done: list[str] = []
        self.gate = asyncio.Event()

    def add(self, user_id: str, session_id: str, name: str, *, slow: bool = False) -> None:
        machine = Machine(f"machine of {user_id}", user_id, "org", "vm")
        self.recording.add(machine, session_id, self._work(name, slow))

    async def _work(self, name: str, slow: bool) -> None:
        if slow:
            await self.gate.wait()
        self.done.append(name)

    async def waits(self, work: Work) -> bool:
        """Whether it is still waiting when everything else that could be done was."""
        waiting = asyncio.ensure_future(work)
        for _ in range(20):
            await asyncio.sleep(0)
        is_waiting = not waiting.done()
        self.gate.set()
        await waiting
        return is_waiting


async def test_what_a_sessions_events_mean_is_written_down_in_their_order() -> None:
    desk = Desk()
    desk.add("ann", "s", "first", slow=True)
    desk.add("ann", "s", "second")
    desk.add("ann", "s", "third")
    assert await desk.waits(desk.recording.done("s"))
    assert desk.done == ["first", "second", "third"]


async def test_a_failed_record_does_not_keep_the_next_one_back() -> None:
    desk = Desk()

    async def fail() -> None:
        raise OSError("the disk is full")

    machine = Machine("m", "ann", "org", "vm")
    desk.recording.add(machine, "s", fail())
    desk.add("ann", "s", "next")
    await desk.recording.done("s")
    assert desk.done == ["next"]


async def test_a_slow_record_of_one_session_holds_up_no_other() -> None:
    desk = Desk()
    desk.add("ann", "slow", "slow", slow=True)
    desk.add("ann", "quick", "quick")
    assert not await desk.waits(desk.recording.done("quick"))
    await desk.recording.done("slow")
    assert desk.done == ["quick", "slow"]


@pytest.mark.parametrize(("who", "waits"), [(ANN, True), (ADMIN, True), (BOB, False)])
async def test_over_all_sessions_one_waits_for_those_that_one_may_see(
    who: Principal, waits: bool
) -> None:
    desk = Desk()
    desk.add("ann", "hers", "hers", slow=True)
    assert await desk.waits(desk.recording.done_for(who)) is waits
    await desk.tasks.settle(60)


async def test_what_is_never_done_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "RECORD_WAIT_S", 0.0)
    desk = Desk()
    desk.add("ann", "s", "stuck", slow=True)
    await desk.recording.done("s")
    await desk.recording.done_for(ANN)
    assert desk.done == []
    desk.gate.set()
    await desk.tasks.settle(60)


async def test_a_record_that_ends_before_the_one_it_waits_for_is_no_fault() -> None:
    """A shutdown ends all of them at once; one at work may take a moment longer."""
    desk = Desk()
    faults: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(str(context)))
    begun = asyncio.Event()

    async def take_a_moment() -> None:
        begun.set()
        try:
            await desk.gate.wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)

    desk.recording.add(Machine("m", "ann", "org", "vm"), "s", take_a_moment())
    desk.add("ann", "s", "waits")
    await begun.wait()
    await desk.tasks.cancel()
    await desk.recording.done("s")
    assert (faults, desk.done) == ([], [])


async def test_a_record_that_a_shutdown_keeps_from_its_first_step_is_put_away() -> None:
    """Work that nobody waits for would be a warning, and that is an error here."""
    desk = Desk()

    async def record() -> None:
        desk.done.append("written")

    work = record()
    desk.recording.add(Machine("m", "ann", "org", "vm"), "s", work)
    await desk.tasks.cancel()
    assert (inspect.getcoroutinestate(work), desk.done) == (inspect.CORO_CLOSED, [])
