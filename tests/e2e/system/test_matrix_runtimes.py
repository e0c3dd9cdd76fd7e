"""Every client with every runtime, on real sockets with the real programs: one session each, in
which all is done that people do. What cannot exist is in `ABSENT`, with the page's reason."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from tests.support.matrix.runtimes import ABSENT, CELLS, PAGE, Cell, RuntimesWorld, open_runtimes
from tests.support.matrix.seen import ENDS, Kind, View
from tests.support.matrix.steps import Client, Step
from tests.support.matrix.story import Ask, Fail, Hold, Run, Say, Think, echo
from tests.support.model_turns import Gate
from tests.support.runtimes.driver import RuntimeDriver
from tests.support.runtimes.installed import need

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slow,
    pytest.mark.programs,
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RuntimesWorld]:
    async with open_runtimes(tmp_path_factory.mktemp("matrix")) as made:
        yield made


def ends(view: View, words: str) -> bool:
    """A blank at the end of a piece may come with the next one."""
    return view.text().rstrip().endswith(words.rstrip())


async def stream(cell: Cell) -> None:
    gate = Gate()
    await cell.say(Say("Good "), Hold(gate), Say("morning."))
    await cell.view.until(lambda view: ends(view, "Good "), "the first word")
    gate.open()
    end = await cell.end()
    assert (end.kind, end.text) == (Kind.END, "Good morning.")


async def tool(cell: Cell) -> None:
    await cell.say(echo("forty-two"), Say("It is forty-two."))
    assert (await cell.end()).text == "It is forty-two."
    [used], [result] = cell.view.of(Kind.TOOL), cell.view.of(Kind.RESULT)
    assert used.text == cell.runtime.tool_name
    assert "forty-two" in result.text
    assert used.id == result.id


async def thinking(cell: Cell) -> None:
    await cell.say(Think("Is that so?"), Say("It is."))
    assert (await cell.end()).text == "It is."
    assert "Is that so?" in "".join(one.text for one in cell.view.of(Kind.THINKING))


async def question(cell: Cell) -> None:
    await cell.say(Ask("Which colour?", ("red", "blue")), Say("So be it."))
    asked = await cell.view.first(Kind.QUESTION)
    assert "Which colour?" in asked.text
    await cell.client.answer(cell.session, asked, "blue")
    assert (await cell.end()).text == "So be it."


async def cancel(cell: Cell) -> None:
    gate = Gate()
    await cell.say(Say("I was about to "), Hold(gate), Say("finish."))
    await cell.view.until(lambda view: ends(view, "I was about to "), "the first words")
    await cell.client.cancel(cell.session)
    assert (await cell.end()).kind is Kind.CANCELLED
    gate.open()


async def error(cell: Cell) -> None:
    await cell.say(Fail("the disk is full"))
    end = await cell.end()
    assert end.kind is Kind.ERROR
    assert cell.runtime.told("the disk is full") in end.text


async def reconnect(cell: Cell) -> None:
    gate = Gate()
    await cell.say(Say("one "), Hold(gate), Say("two"))
    await cell.view.until(lambda view: ends(view, "one "), "the first word")
    await cell.client.drop()
    gate.open()
    await cell.client.come_back()

    def is_whole(view: View) -> bool:
        """In pieces, or with the end, which has the whole answer for who missed some."""
        return ends(view, "one two") or [one.text for one in view.of(*ENDS)][-1:] == ["one two"]

    await cell.view.until(is_whole, "the rest")


async def approval(cell: Cell) -> None:
    await cell.ask_first()
    for number, allowed in enumerate((True, False)):
        file = cell.workspace / f"{cell.session}-{allowed}"
        before = len(cell.view.of(Kind.QUESTION))
        await cell.say(Run(f"echo done | tee {file.name}", ""), Say(f"Said {number}."))
        asked = await cell.view.first(Kind.QUESTION, number=before + 1)
        assert cell.runtime.tool_name in asked.text
        assert not file.exists()
        await cell.client.permit(cell.session, asked, allowed)
        end = await cell.end()
        assert end.kind is Kind.END
        assert file.exists() is allowed
        assert asked.id in [one.id for one in cell.view.of(Kind.ANSWERED)]


STEPS: dict[Step, Callable[[Cell], Awaitable[None]]] = {
    Step.STREAM: stream,
    Step.TOOL: tool,
    Step.THINKING: thinking,
    Step.QUESTION: question,
    Step.CANCEL: cancel,
    Step.ERROR: error,
    Step.APPROVAL: approval,
    Step.CLIENT_RECONNECT: reconnect,
}


@pytest.mark.parametrize(
    ("client", "runtime"),
    [
        pytest.param(
            client,
            runtime,
            id=f"{client}-{runtime.name}",
            marks=[pytest.mark.openclaw] if runtime.runtime_type == "openclaw" else [],
        )
        for client, runtime in CELLS
    ],
)
async def test_a_session_of_each_runtime_looks_the_same_to_each_client(
    world: RuntimesWorld, client: Client, runtime: RuntimeDriver
) -> None:
    need(*runtime.programs)
    async with world.cell(client, runtime) as cell:
        for step, take in STEPS.items():
            if (runtime.name, step) not in ABSENT:
                await take(cell)
        async with world.later(client) as later:
            said = await later.history(cell.session)
    assert ("agent", "Good morning.") in said


@pytest.mark.parametrize(("who", "step"), ABSENT, ids=[f"{who}-{step}" for who, step in ABSENT])
async def test_what_a_runtime_cannot_do_is_in_its_page(who: str, step: Step) -> None:
    assert ABSENT[who, step] in PAGE.read_text()
