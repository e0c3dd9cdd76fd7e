"""Every client with every machine, on real sockets: one test for each thing that people do.

What a protocol has no words for is left out of its cells, and `ABSENT` says why; the reason stands
in that protocol's page. The peers are in tests/support/matrix/, written from the documents.
"""

from collections.abc import AsyncIterator
from itertools import count, product

import pytest
import pytest_asyncio

from tests.support.eventually import eventually
from tests.support.matrix.absent import ABSENT, PAGES, cells
from tests.support.matrix.client import ClientDriver
from tests.support.matrix.machine import MachineDriver
from tests.support.matrix.seen import ENDS, Kind
from tests.support.matrix.steps import Client, Machine, Step
from tests.support.matrix.story import Ask, Beat, Fail, Hold, Say, Think, echo
from tests.support.matrix.world import World, open_world
from tests.support.model_turns import Gate

pytestmark = pytest.mark.asyncio(loop_scope="module")

_numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("matrix")) as made:
        yield made


class Cell:
    """A client with a session on a machine, and words that no other test uses."""

    def __init__(self, world: World, client: ClientDriver, machine: MachineDriver, at: str) -> None:
        self.world = world
        self.client = client
        self.machine = machine
        self.session = at
        self.view = client.view(at)

    async def say(self, *story: Beat) -> str:
        """Says something that the machine answers with this story."""
        prompt = f"prompt {next(_numbers)}."
        self.machine.plays(prompt, *story)
        await self.client.say(self.session, prompt)
        return prompt

    async def until_logged(self, text: str) -> None:
        """The control plane has it, whoever reads."""
        await eventually(lambda: self.world.logged(self.session), lambda found: text in found)


@pytest_asyncio.fixture(loop_scope="module")
async def cell(world: World, request: pytest.FixtureRequest) -> AsyncIterator[Cell]:
    client_kind, machine_kind = request.param
    machine = await world.machine(machine_kind)
    async with world.client(client_kind) as client:
        session = await client.create(machine.machine_id)
        yield Cell(world, client, machine, session)
        await world.user.ok("DELETE", f"/sessions/{session}")  # the machine runs so many at once


def at(step: Step) -> pytest.MarkDecorator:
    """Every pair of client and machine in which the step can exist."""
    pairs = cells(step)
    return pytest.mark.parametrize(
        "cell", pairs, indirect=True, ids=[f"{client}-{machine}" for client, machine in pairs]
    )


@at(Step.CREATE)
async def test_a_session_is_made_where_the_client_wants_it(cell: Cell) -> None:
    session = await cell.world.user.ok("GET", f"/sessions/{cell.session}")
    assert session["machine_id"] == cell.machine.machine_id


@at(Step.STREAM)
async def test_the_answer_is_read_while_the_machine_still_speaks(cell: Cell) -> None:
    gate = Gate()
    prompt = await cell.say(Say("Good "), Hold(gate), Say("morning."))
    await cell.view.until_text("Good ")
    assert cell.view.of(*ENDS) == []
    gate.open()
    end = await cell.view.end()
    assert (end.kind, end.text) == (Kind.END, "Good morning.")
    assert cell.view.text() == "Good morning."
    assert cell.machine.prompts(prompt) == 1


@at(Step.STREAM)
async def test_the_next_message_is_answered_in_the_same_session(cell: Cell) -> None:
    await cell.say(Say("One."))
    await cell.view.end()
    await cell.say(Say("Two."))
    end = await cell.view.end(number=2)
    assert (end.kind, end.text) == (Kind.END, "Two.")
    assert cell.view.text() == "One.Two."


@at(Step.TOOL)
async def test_a_tool_call_is_shown_with_its_result(cell: Cell) -> None:
    await cell.say(echo("forty-two"), Say("It is forty-two."))
    assert (await cell.view.end()).kind is Kind.END
    (tool,), (result,) = cell.view.of(Kind.TOOL), cell.view.of(Kind.RESULT)
    assert tool.text == "bash"
    assert "forty-two" in result.text
    assert tool.id == result.id
    kinds = [one.kind for one in cell.view.seen]
    assert kinds.index(Kind.TOOL) < kinds.index(Kind.RESULT) < kinds.index(Kind.TEXT)


@at(Step.THINKING)
async def test_thoughts_are_shown_as_thoughts(cell: Cell) -> None:
    await cell.say(Think("Is that so?"), Say("It is."))
    assert (await cell.view.end()).kind is Kind.END
    assert "Is that so?" in [one.text for one in cell.view.of(Kind.THINKING)]
    assert cell.view.text() == "It is."


@at(Step.QUESTION)
async def test_a_question_is_answered_by_the_client_and_the_turn_goes_on(cell: Cell) -> None:
    wanted = f"Which colour, number {next(_numbers)}?"
    await cell.say(Ask(wanted, ("red", "blue")), Say("So be it."))
    question = await cell.view.first(Kind.QUESTION)
    assert question.text == wanted
    assert cell.view.of(*ENDS) == []
    await cell.client.answer(cell.session, question, "blue")
    assert "blue" in await cell.machine.answer_to(wanted)
    end = await cell.view.end()
    assert (end.kind, end.text) == (Kind.END, "So be it.")
    assert len(cell.machine.answers_to(wanted)) == 1


@at(Step.CANCEL)
async def test_a_cancelled_turn_ends_once_and_the_session_goes_on(cell: Cell) -> None:
    gate = Gate()
    await cell.say(Say("I was about to "), Hold(gate), Say("finish."))
    await cell.view.until_text("I was about to ")
    await cell.client.cancel(cell.session)
    assert (await cell.view.end()).kind is Kind.CANCELLED
    await cell.say(Say("Still here."))
    end = await cell.view.end(number=2)
    assert (end.kind, end.text) == (Kind.END, "Still here.")
    gate.open()


@at(Step.ERROR)
async def test_a_failure_of_the_machine_is_told_with_its_reason(cell: Cell) -> None:
    await cell.say(Fail("the disk is full"))
    end = await cell.view.end()
    assert end.kind is Kind.ERROR
    assert "the disk is full" in end.text
    await cell.say(Say("Better now."))
    assert (await cell.view.end(number=2)).text == "Better now."


@at(Step.CLIENT_RECONNECT)
async def test_a_client_that_returns_misses_nothing_and_sees_nothing_twice(cell: Cell) -> None:
    first, second = Gate(), Gate()
    await cell.say(Say("one "), Hold(first), Say("two "), Hold(second), Say("three"))
    await cell.view.until_text("one ")
    await cell.client.drop()
    first.open()
    await cell.until_logged("two ")
    await cell.client.come_back()
    await cell.view.until_text("one two ")
    second.open()
    end = await cell.view.end()
    assert (end.kind, end.text) == (Kind.END, "one two three")
    assert cell.view.text() == "one two three"
    # A later turn flushes whatever might still have come twice.
    await cell.say(Say("."))
    await cell.view.end(number=2)
    assert cell.view.text() == "one two three."
    assert len(cell.view.of(*ENDS)) == 2


@at(Step.MACHINE_RECONNECT)
async def test_a_machine_that_returns_loses_nothing_that_it_said_meanwhile(cell: Cell) -> None:
    first, second = Gate(), Gate()
    prompt = await cell.say(
        Say("before, "), Hold(first), Say("meanwhile, "), Hold(second), Say("after")
    )
    await cell.view.until_text("before, ")
    await cell.machine.cut()
    first.open()
    await cell.machine.mend()
    await cell.view.until_text("before, meanwhile, ")
    await cell.until_logged("meanwhile, ")  # whoever gives a prompt out again has done so by now
    second.open()
    end = await cell.view.end()
    assert (end.kind, end.text) == (Kind.END, "before, meanwhile, after")
    # A prompt that was given out twice would come before the next one.
    await cell.say(Say("."))
    await cell.view.end(number=2)
    assert cell.view.text() == "before, meanwhile, after."
    assert cell.machine.prompts(prompt) == 1


@at(Step.MACHINE_RECONNECT)
async def test_what_is_said_to_a_machine_that_is_away_is_answered_when_it_returns(
    cell: Cell,
) -> None:
    await cell.machine.cut()
    prompt = await cell.say(Say("Here I am."))
    await cell.machine.mend()
    end = await cell.view.end()
    assert (end.kind, end.text) == (Kind.END, "Here I am.")
    await cell.say(Say("."))
    await cell.view.end(number=2)
    assert cell.machine.prompts(prompt) == 1


@at(Step.HISTORY)
async def test_what_was_said_can_be_read_again_by_a_client_that_comes_later(cell: Cell) -> None:
    prompt = await cell.say(Say("The first "), Say("answer."))
    await cell.view.end()
    async with cell.world.client(cell.client.kind) as later:
        assert await later.history(cell.session) == [
            ("user", prompt),
            ("agent", "The first answer."),
        ]


@pytest.mark.parametrize(("who", "step"), ABSENT, ids=[f"{who}-{step}" for who, step in ABSENT])
async def test_what_a_protocol_cannot_say_is_in_its_page(who: Client | Machine, step: Step) -> None:
    page, reason = ABSENT[who, step]
    assert reason in (PAGES / page).read_text()


async def test_every_pair_is_tried_with_every_step_that_it_can_say() -> None:
    """The list of what is left out, so that it cannot grow unseen."""
    steps = set(Step) - {Step.APPROVAL}  # which is a runtime's, and tried with each of them
    everything = set(product(Client, Machine, steps))
    tried = {(client, machine, step) for step in steps for client, machine in cells(step)}
    unsaid = (Step.THINKING, Step.QUESTION)
    assert everything - tried == {
        (client, Machine.AGP, step) for client in Client for step in unsaid
    }
