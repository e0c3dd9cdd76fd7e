"""Three persons on three kinds of machines answer one message: an execution plane, a phone that
speaks AGP, a Yeaft agent. Said on a Yeaft page, watched there and by SSE."""

import contextlib
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from tests.support.matrix.client import opened
from tests.support.matrix.machine import MachineDriver
from tests.support.matrix.rest_client import RestClient
from tests.support.matrix.seen import Kind, View
from tests.support.matrix.steps import Machine
from tests.support.matrix.story import Fail, Say, echo
from tests.support.matrix.world import World, open_world
from tests.support.matrix.yeaft_client import YeaftClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERSONS = {
    "alice": Machine.EXECUTION_PLANE,
    "bob": Machine.AGP,
    "carol": Machine.YEAFT_DOCUMENTED,
}

_numbers = count(1)


class Team:
    """The group, one conversation in it, a Yeaft page and an SSE reader that follow it."""

    def __init__(
        self,
        group_id: str,
        machines: dict[str, MachineDriver],
        page: YeaftClient,
        reader: RestClient,
        session: str,
    ) -> None:
        self.id = group_id
        self.machines = machines
        self.page = page
        self.session = session
        self.views = [page.view(session), reader.view(session)]

    async def say(self, text: str, **fields: object) -> None:
        """002, "yeaft_session_chat", from the page."""
        await self.page.say_to_group(self.id, text, conversationId=self.session, **fields)

    async def over(self) -> None:
        """The group's turn has its one end, everywhere."""
        for view in self.views:
            await view.until(lambda one: _ends(one), "the end of the group's turn")


def _ends(view: View) -> list[str]:
    """Ends of turns that are the group's own, and no single person's."""
    return [one.text for one in view.of(Kind.END) if not one.who]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("group")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def team(world: World) -> AsyncIterator[Team]:
    number = next(_numbers)
    machines = {name: await world.machine(kind) for name, kind in PERSONS.items()}
    ids = []
    for name, machine in machines.items():
        body = {"name": name, "prompt": f"You are {name}.", "machine_id": machine.machine_id}
        person = await world.user.ok("POST", "/persons", {**body, "name": f"{name}{number}"})
        ids.append(person["id"])
    group = await world.user.ok("POST", "/groups", {"name": f"team-{number}", "person_ids": ids})
    async with contextlib.AsyncExitStack() as stack:
        page = await stack.enter_async_context(opened(YeaftClient(world.user)))
        reader = await stack.enter_async_context(opened(RestClient(world.user)))
        session = await page.create(group["id"])
        await reader.follow(session)
        named = {f"{name}{number}": machine for name, machine in machines.items()}
        yield Team(group["id"], named, page, reader, session)
        await world.user.ok("DELETE", f"/groups/{group['id']}")


async def test_each_answers_on_its_own_machine_and_under_its_own_name(team: Team) -> None:
    prompt = f"Who is there, {next(_numbers)}?"
    for name, machine in team.machines.items():
        machine.plays(prompt, Say("I am "), Say(f"{name}."))
    await team.say(prompt)
    await team.over()
    for view in team.views:
        assert {name: view.text(name) for name in team.machines} == {
            name: f"I am {name}." for name in team.machines
        }
        (end,) = _ends(view)
        assert all(f"I am {name}." in end for name in team.machines)
    assert [machine.prompts(prompt) for machine in team.machines.values()] == [1, 1, 1]


async def test_one_that_fails_does_not_stop_the_others(team: Team) -> None:
    prompt = f"Try it, {next(_numbers)}."
    well, bad, also_well = team.machines
    team.machines[well].plays(prompt, echo("fine"), Say("It works."))
    team.machines[bad].plays(prompt, Fail("the battery is empty"))
    team.machines[also_well].plays(prompt, echo("fine"), Say("Here too."))
    await team.say(prompt)
    await team.over()
    for view in team.views:
        assert (view.text(well), view.text(also_well)) == ("It works.", "Here too.")
        tools = {one.who for one in view.of(Kind.TOOL)}
        assert tools == {well, also_well}
    page, _ = team.views
    (problem,) = (one.text for one in page.of(Kind.ERROR) if one.who == bad)
    assert "the battery is empty" in problem
