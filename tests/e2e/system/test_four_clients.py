"""One session on four protocols at once: all see the same, in the same order, and may answer.

The machine is an AGP device or a Yeaft agent, each with words of its own, and then the real
execution plane, which asks for approvals.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from tests.support.matrix.client import ClientDriver, opened
from tests.support.matrix.machine import MachineDriver
from tests.support.matrix.seen import ENDS, Kind, Seen, View, without_pieces
from tests.support.matrix.sse_client import SseClient
from tests.support.matrix.steps import Client, Machine
from tests.support.matrix.story import Ask, Hold, Say, Think, echo
from tests.support.matrix.world import World, open_world
from tests.support.model_turns import Gate

pytestmark = pytest.mark.asyncio(loop_scope="module")

_numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("four")) as made:
        yield made


class Room:
    """A session that four clients follow from its first event on."""

    def __init__(self, machine: MachineDriver, session: str, clients: list[ClientDriver]) -> None:
        self.machine = machine
        self.session = session
        self.clients = clients

    @property
    def views(self) -> list[View]:
        return [client.view(self.session) for client in self.clients]

    async def first(self, kind: Kind, number: int = 1) -> list[Seen]:
        """The first thing of that kind as each client shows it."""
        return await asyncio.gather(*(view.first(kind, number=number) for view in self.views))

    async def ends(self, number: int = 1) -> list[Seen]:
        return await asyncio.gather(*(view.end(number=number) for view in self.views))


@contextlib.asynccontextmanager
async def room_on(world: World, kind: Machine) -> AsyncIterator[Room]:
    """Made by the MyAgent client, followed by a Yeaft page, the typed client and a raw reader."""
    machine = await world.machine(kind)
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(world.client(one)) for one in Client]
        raw = await stack.enter_async_context(opened(SseClient(world.user)))
        maker = next(one for one in clients if one.kind is Client.MYAGENT)
        session = await maker.create(machine.machine_id)
        for client in (*clients, raw):
            if client is not maker:
                await client.follow(session)
        yield Room(machine, session, [*clients, raw])
        await world.user.ok("DELETE", f"/sessions/{session}")


@pytest_asyncio.fixture(loop_scope="module")
async def phone(world: World) -> AsyncIterator[Room]:
    async with room_on(world, Machine.AGP) as room:
        yield room


@pytest_asyncio.fixture(loop_scope="module")
async def plane(world: World) -> AsyncIterator[Room]:
    async with room_on(world, Machine.EXECUTION_PLANE) as room:
        yield room


def shown(view: View) -> list[tuple[Kind, str]]:
    """What every one of the four protocols can show, as kind and text.

    Who said what is no event of MyAgent's, and ids are each protocol's own."""
    kinds = (Kind.TEXT, Kind.TOOL, Kind.RESULT, Kind.QUESTION, *ENDS)
    return [(one.kind, one.text) for one in without_pieces(view.of(*kinds))]


@pytest.mark.parametrize(
    "kind", [Machine.AGP, Machine.YEAFT_DOCUMENTED, Machine.YEAFT_DEPLOYED], ids=str
)
async def test_a_machines_answer_is_the_same_for_all_four(world: World, kind: Machine) -> None:
    async with room_on(world, kind) as room:
        await _same_for_all(room)


async def _same_for_all(room: Room) -> None:
    prompt, gate = f"Clean up, {next(_numbers)}.", Gate()
    room.machine.plays(
        prompt, Say("Let me "), Say("look. "), echo("2.3GB"), Hold(gate), Say("All "), Say("done.")
    )
    await room.clients[0].say(room.session, prompt)
    results = await room.first(Kind.RESULT)
    assert [one.text for one in results] == ["2.3GB\n"] * 4
    gate.open()
    ends = await room.ends()
    assert [(one.kind, one.text) for one in ends] == [(Kind.END, "Let me look. All done.")] * 4
    first, *others = map(shown, room.views)
    assert first == [
        (Kind.TEXT, "Let me look. "),
        (Kind.TOOL, "bash"),
        (Kind.RESULT, "2.3GB\n"),
        (Kind.TEXT, "All done."),
        (Kind.END, "Let me look. All done."),
    ]
    assert others == [first] * 3


async def test_each_of_the_four_may_speak_and_all_hear_the_answers_in_one_order(
    phone: Room,
) -> None:
    for number, client in enumerate(phone.clients, 1):
        prompt = f"Number {next(_numbers)}?"
        phone.machine.plays(prompt, Say(f"Answer {number}."))
        await client.say(phone.session, prompt)
        await phone.ends(number)
    first, *others = map(shown, phone.views)
    assert [text for kind, text in first if kind is Kind.END] == [
        f"Answer {number}." for number in (1, 2, 3, 4)
    ]
    assert others == [first] * 3


async def test_a_cancel_by_one_is_seen_by_all(phone: Room) -> None:
    prompt, gate = f"Take your time, {next(_numbers)}.", Gate()
    phone.machine.plays(prompt, Say("Slowly, "), Hold(gate))
    await phone.clients[0].say(phone.session, prompt)
    await phone.first(Kind.TEXT)
    await phone.clients[1].cancel(phone.session)
    assert {one.kind for one in await phone.ends()} == {Kind.CANCELLED}
    gate.open()


async def test_the_execution_planes_whole_turn_is_the_same_for_all_four(plane: Room) -> None:
    prompt = f"What is it, {next(_numbers)}?"
    plane.machine.plays(prompt, Think("Hm."), Say("Let me see. "), echo("forty-two"), Say("42."))
    await plane.clients[0].say(plane.session, prompt)
    await plane.ends()
    first, *others = map(shown, plane.views)
    assert [kind for kind, _ in first] == [
        Kind.TEXT,
        Kind.TOOL,
        Kind.RESULT,
        Kind.TEXT,
        Kind.END,
    ]
    assert others == [first] * 3
    for view in plane.views:
        assert "Hm." in [one.text for one in view.of(Kind.THINKING)]


@pytest.mark.parametrize("answering", range(4), ids=[*Client, "raw-sse"])
async def test_an_answer_by_one_is_seen_as_answered_by_the_others(
    plane: Room, answering: int
) -> None:
    wanted = f"Which colour, {next(_numbers)}?"
    prompt = f"Paint it, {next(_numbers)}."
    plane.machine.plays(prompt, Ask(wanted, ("red", "blue")), Say("Painted."))
    await plane.clients[0].say(plane.session, prompt)
    questions = await plane.first(Kind.QUESTION)
    assert [one.text for one in questions] == [wanted] * 4
    await plane.clients[answering].answer(plane.session, questions[answering], "blue")
    settled = await plane.first(Kind.ANSWERED)
    assert [one.id for one in settled] == [one.id for one in questions]
    assert {one.kind for one in await plane.ends()} == {Kind.END}
    assert [answer for answer in plane.machine.answers_to(wanted) if "blue" in answer]


async def test_of_four_answers_at_once_one_wins_and_the_machine_gets_one(plane: Room) -> None:
    wanted, prompt = f"Who is first, {next(_numbers)}?", f"Race, {next(_numbers)}."
    plane.machine.plays(prompt, Ask(wanted), Say("Thank you."))
    await plane.clients[0].say(plane.session, prompt)
    questions = await plane.first(Kind.QUESTION)
    await asyncio.gather(
        *(
            client.answer(plane.session, question, f"answer {number}")
            for number, (client, question) in enumerate(
                zip(plane.clients, questions, strict=True), 1
            )
        )
    )
    await plane.ends()
    winners = {view.of(Kind.ANSWERED)[0].text for view in plane.views} - {""}
    assert len(winners) == 1
    assert [len(view.of(Kind.ANSWERED)) for view in plane.views] == [1] * 4
    (winner,), (told,) = winners, plane.machine.answers_to(wanted)
    assert winner in told
    assert [number for number in (1, 2, 3, 4) if f"answer {number}" in told] == [int(winner[-1])]
