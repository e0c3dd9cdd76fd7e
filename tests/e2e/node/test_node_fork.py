"""Copies of sessions that go their own way: what the agent remembers there, and what crashes
leave."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.eventually import eventually
from tests.support.git import committed
from tests.support.model_server import ModelRequest, ToolUse, Turn
from tests.support.node import Talk
from tests.support.node_system import System, running_system
from trunkline.execution.home import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def system(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    async with running_system(tmp_path_factory.mktemp("forks")) as made:
        yield made


def seen(request: ModelRequest) -> list[tuple[str, str]]:
    """What the model was told, without what is added to it."""
    told = [one for one in request.messages if one["role"] != "system"]
    return [(one["role"], str(one.get("content") or "").split("\n\n")[0].strip()) for one in told]


async def three_turns(system: System, talk: Talk) -> list[str]:
    look = ToolUse(name="bash", arguments={"command": "echo the number is 42"})
    system.world.model.script(
        Turn(tool_calls=[look]), Turn(text="42."), Turn(text="Noted."), Turn(text="Later.")
    )
    turns = []
    for message in ("Which number?", "Remember it.", "And now?"):
        turns.append(await talk.say(message))
        await talk.end_of(turns[-1])
    return turns


REMEMBERED = [
    ("user", "Which number?"),
    ("assistant", ""),
    ("tool", "the number is 42"),
    ("assistant", "42."),
    ("user", "Remember it."),
    ("assistant", "Noted."),
]


async def log_of(talk: Talk) -> list[Json]:
    page = await talk.user.ok("GET", f"/sessions/{talk.id}/events?limit=1000")
    return [one["event"] for one in page["items"]]


@pytest.mark.parametrize("is_here", [True, False], ids=["its checkpoint", "the log alone"])
async def test_the_agent_remembers_up_to_the_turn_and_nothing_behind_it(
    system: System, is_here: bool
) -> None:
    world = system.world
    async with await world.session(title="Numbers") as talk:
        turns = await three_turns(system, talk)
        before = await log_of(talk)
        if not is_here:  # its machine removes what it has of a closed session
            await talk.user.ok("DELETE", f"/sessions/{talk.id}")
            await talk.until("session_closed")
            before = await log_of(talk)
        body = {"from_turn": turns[1], "client_id": "mine"}
        fork = await talk.user.ok("POST", f"/sessions/{talk.id}/fork", body)
        again = await talk.user.ok("POST", f"/sessions/{talk.id}/fork", body)
        assert (fork["title"], fork["machine_id"]) == ("Numbers (fork)", world.node.machine_id)
        assert fork["forked_from"] == {"session_id": talk.id, "turn_id": turns[1]}
        assert fork["id"] == again["id"] != talk.id
        world.model.script(Turn(text="Still 42."))
        async with Talk(talk.user, fork["id"]) as copy:
            assert (await copy.ask("Which was it?"))["content"] == "Still 42."
            assert seen(world.model.requests[-1]) == [*REMEMBERED, ("user", "Which was it?")]
            said = [one["content"] for one in copy.events("user_message")]
            assert said == ["Which number?", "Remember it.", "Which was it?"]
            copied = [one for one in copy.events() if one.get("imported")]
            assert {"tool_call_start", "tool_call_complete"} <= {one["type"] for one in copied}
            assert not set(turns) & {one.get("turn_id") for one in copied}
        assert await log_of(talk) == before


async def test_what_cannot_be_forked_is_refused_plainly(system: System) -> None:
    world = system.world
    async with await world.session() as talk:
        path = f"/sessions/{talk.id}/fork"
        status, refusal = await talk.user.call("POST", path)
        assert (status, refusal["error"]["code"]) == (409, "TURN_NOT_ENDED")
        world.model.script(Turn(text="Hello."))
        await talk.ask("Hi")
        for unknown in (2, "nothing", talk.id):
            status, refusal = await talk.user.call("POST", path, {"from_turn": unknown})
            assert (status, refusal["error"]["code"]) == (404, "TURN_NOT_FOUND")
        refused: list[Any] = [0, -1, [], {}, 2**80, "x" * 1000, True]
        for wanted in refused:
            status, refusal = await talk.user.call("POST", path, {"from_turn": wanted})
            assert (status, refusal["error"]["code"]) == (400, "INVALID_REQUEST"), wanted
        other = await world.control.user()
        status, _ = await other.call("POST", path)
        assert status == 404


async def test_a_machine_that_is_killed_while_it_begins_a_copy_has_all_of_it_later(
    system: System,
) -> None:
    world = system.world
    async with await world.session() as talk:
        turns = await three_turns(system, talk)
        body = {"from_turn": 2}
        fork = await talk.user.ok("POST", f"/sessions/{talk.id}/fork", body)
        await world.node.kill()
        await world.node.start()
        async with Talk(talk.user, fork["id"]) as copy:
            world.model.script(Turn(text="Still 42."), Turn(text="Here too."))
            assert (await copy.ask("Which was it?"))["content"] == "Still 42."
            assert seen(world.model.requests[-1]) == [*REMEMBERED, ("user", "Which was it?")]
            assert (await talk.ask("And here?"))["content"] == "Here too."
            behind = [("user", "And now?"), ("assistant", "Later."), ("user", "And here?")]
            assert seen(world.model.requests[-1]) == [*REMEMBERED, *behind]
            assert len(turns) == 3


async def test_the_files_of_a_worktree_go_along_and_then_apart(system: System) -> None:
    world = system.world
    site = world.node.workspace / "site"
    site.mkdir()
    (site / "page.txt").write_text("old\n")
    committed(site)

    def bash(command: str) -> ToolUse:
        return ToolUse(name="bash", arguments={"command": command})

    async with await world.session(workspace=str(site), worktree=True) as talk:
        for word in ("new", "newer"):
            change = bash(f"echo {word} > page.txt")
            world.model.script(Turn(tool_calls=[change]), Turn(text="Done."))
            assert (await talk.ask("Change it."))["content"] == "Done."
        fork = await talk.user.ok("POST", f"/sessions/{talk.id}/fork", {"from_turn": 1})
        async with Talk(talk.user, fork["id"]) as copy:
            look = Turn(tool_calls=[bash("cat page.txt; echo mine > other.txt")])
            world.model.script(look, Turn(text="Seen."))
            await copy.ask("Look.")
            assert copy.events("tool_call_complete")[-1]["result"].strip() == "new"
        world.model.script(Turn(tool_calls=[bash("ls")]), Turn(text="Nothing."))
        await talk.ask("What is there?")
        assert talk.events("tool_call_complete")[-1]["result"].split() == ["page.txt"]
    assert (site / "page.txt").read_text() == "old\n"


async def test_a_copy_of_a_copy_has_the_files_of_a_turn_that_it_has_inherited(
    system: System,
) -> None:
    world = system.world
    site = world.node.workspace / "words"
    site.mkdir()
    (site / "f.txt").write_text("zero\n")
    committed(site)

    def bash(command: str) -> ToolUse:
        return ToolUse(name="bash", arguments={"command": command})

    async def forked(talk: Talk, **body: Any) -> str:
        made = await talk.user.ok("POST", f"/sessions/{talk.id}/fork", body)
        return str(made["id"])

    async def look(copy: Talk) -> str:
        world.model.script(Turn(tool_calls=[bash("cat f.txt")]), Turn(text="Seen."))
        await copy.ask("Look.")
        return str(copy.events("tool_call_complete")[-1]["result"]).strip()

    async with await world.session(workspace=str(site), worktree=True) as talk:
        for word in ("one", "two", "three"):
            world.model.script(Turn(tool_calls=[bash(f"echo {word} > f.txt")]), Turn(text="Done."))
            await talk.ask(f"Write {word}.")
        async with Talk(talk.user, await forked(talk)) as second:
            assert await look(second) == "three"
            async with Talk(talk.user, await forked(second, from_turn=1)) as third:
                assert await look(third) == "one"
                said = [one["content"] for one in third.events("user_message")]
                assert said == ["Write one.", "Look."]
                assert not [one for one in third.events("session_status") if one.get("problems")]


async def test_where_the_files_of_the_turn_are_not_kept_readers_are_told_what_they_have(
    system: System,
) -> None:
    world = system.world
    site = world.node.workspace / "lost"
    site.mkdir()
    (site / "f.txt").write_text("zero\n")
    committed(site)
    async with await world.session(workspace=str(site), worktree=True) as talk:
        world.model.script(Turn(text="Hello."))
        await talk.ask("Hi")
        # The machine keeps them a moment after the turn has ended.
        kept = Home(world.node.home).worktrees / talk.id / "turns" / "turns.json"

        async def is_kept() -> bool:
            return kept.exists()

        await eventually(is_kept)
        kept.unlink()
        fork = await talk.user.ok("POST", f"/sessions/{talk.id}/fork")
        async with Talk(talk.user, fork["id"]) as copy:

            def problems() -> list[str]:
                told = copy.events("session_status")
                return [line for one in told for line in one.get("problems", [])]

            await copy.reader.until(lambda _: bool(problems()), "told of the files")
            [problem] = problems()
            assert "has not kept the files of that turn" in problem
