"""Rules, modes and answers on a whole system: what a person said holds where it runs."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import ControlProcess
from tests.support.eventually import eventually, until
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import Talk, World

pytestmark = pytest.mark.asyncio(loop_scope="module")
CAREFUL = {"confirm": "dangerous"}


def bash(command: str) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command})


def write(path: str) -> ToolUse:
    return ToolUse(name="write_file", arguments={"path": path, "content": "x"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("permissions")
    async with (
        ControlProcess(folder / "data") as control,
        ModelServer() as model,
        World(control, model, folder / "home", {"TRUNKLINE_FENCE": "off"}) as world,
    ):
        yield world


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_rules(world: World) -> AsyncIterator[None]:
    yield
    for rule in (await world.user.ok("GET", "/rules"))["items"]:
        await world.user.ok("DELETE", f"/rules/{rule['id']}")


async def result_of(talk: Talk, number: int = 1) -> str:
    return str((await talk.until("tool_call_complete", number))["result"])


async def test_always_becomes_a_rule_that_is_listed_holds_elsewhere_and_can_be_revoked(
    world: World,
) -> None:
    made = bash("mkdir -p made")
    world.model.script(Turn(tool_calls=[made]), Turn(text="Once."))
    async with await world.session(agent=CAREFUL) as talk:
        turn_id = await talk.say("Do it.")
        asked = await talk.until("approval_request")
        assert asked["rule"] == "bash(mkdir -p made)"
        await talk.answer(asked["request_id"], True, scope="always")
        await talk.end_of(turn_id)
    [rule] = (await world.user.ok("GET", "/rules"))["items"]
    assert (rule["effect"], rule["rule"]) == ("allow", "bash(mkdir -p made)")
    assert (rule["level"], rule["machine_id"]) == ("machine", world.node.machine_id)

    world.model.script(Turn(tool_calls=[made]), Turn(text="Twice."))
    async with await world.session(agent=CAREFUL) as talk:
        assert (await talk.ask("Again."))["content"] == "Twice."
        assert not talk.events("approval_request")
        await world.user.ok("DELETE", f"/rules/{rule['id']}")
        await eventually(lambda: _has_heard_of_rules(world, talk, 0))
        world.model.script(Turn(tool_calls=[made]), Turn(text="No."))
        turn_id = await talk.say("Once more.")
        asked = await talk.until("approval_request")
        await talk.answer(asked["request_id"], False, reason="not today")
        await talk.end_of(turn_id)
        assert "not today" in await result_of(talk, 2)


async def test_a_rule_that_denies_holds_in_a_session_that_runs_and_asks_nobody(
    world: World,
) -> None:
    world.model.script(Turn(text="Here."))
    async with await world.session() as talk:
        await talk.ask("Are you there?")
        body = {"effect": "deny", "rule": "bash(rm *)", "level": "session", "target": talk.id}
        await world.user.ok("POST", "/rules", body)
        await eventually(lambda: _has_heard_of_rules(world, talk, 1))
        world.model.script(Turn(tool_calls=[bash("ls; /bin/rm -rf x")]), Turn(text="Well."))
        await talk.ask("Remove it.")
        assert await result_of(talk) == ("not done: a rule of the session denies it: bash(rm *)")


async def test_plan_mode_reads_and_refuses_the_rest_in_words(world: World) -> None:
    world.model.script(
        Turn(tool_calls=[bash("ls | head -3"), write("plan.txt")]), Turn(text="Planned.")
    )
    async with await world.session(agent={"permission_mode": "plan"}) as talk:
        await talk.ask("What would you do?")
        results = {one["tool_name"]: one for one in talk.events("tool_call_complete")}
        assert not results["bash"]["is_error"]
        assert "only plans" in results["write_file"]["result"]
        assert not (world.node.workspace / "plan.txt").exists()


async def test_accept_edits_writes_files_and_asks_before_commands_and_a_repositorys_own(
    world: World,
) -> None:
    world.model.script(
        Turn(tool_calls=[write("notes.txt")]),
        Turn(tool_calls=[write(".git/config")]),
        Turn(tool_calls=[bash("make")]),
        Turn(text="Done."),
    )
    async with await world.session(agent={"permission_mode": "accept_edits"}) as talk:
        turn_id = await talk.say("Go.")
        for number, expected in ((1, "write_file"), (2, "bash")):
            asked = await talk.until("approval_request", number)
            assert asked["tool_name"] == expected
            await talk.answer(asked["request_id"], False)
        await talk.end_of(turn_id)
    assert (world.node.workspace / "notes.txt").read_text() == "x"


async def test_free_without_a_fence_asks_and_says_why(world: World) -> None:
    world.model.script(Turn(tool_calls=[bash("make")]), Turn(text="Done."))
    async with await world.session(agent={"permission_mode": "free"}) as talk:
        turn_id = await talk.say("Go.")
        asked = await talk.until("approval_request")
        assert "fence" in asked["message"]
        await talk.answer(asked["request_id"], False)
        await talk.end_of(turn_id)


async def test_what_goes_out_is_asked_about_once_something_came_in_also_after_a_restart(
    world: World,
) -> None:
    fetch = ToolUse(name="web_fetch", arguments={"url": "http://127.0.0.1:9/x"})
    remember = ToolUse(name="memory_write", arguments={"content": "send it all"})
    world.model.script(Turn(tool_calls=[fetch]), Turn(text="Fetched."))
    async with await world.session(agent=CAREFUL) as talk:
        await talk.ask("Look.")
        assert not talk.events("approval_request")
        for process in world.node.session_processes():
            process.kill()
        await until(lambda: _has_ended(world, talk))
        world.model.script(Turn(tool_calls=[fetch, remember]), Turn(text="No."))
        turn_id = await talk.say("And now?")
        first, second = [await talk.until("approval_request", number) for number in (1, 2)]
        assert {first["tool_name"], second["tool_name"]} == {"web_fetch", "memory_write"}
        assert {one.get("rule") for one in (first, second)} == {
            "web_fetch(domain:127.0.0.1)",
            "memory_write",
        }
        for asked in (first, second):
            assert "read from outside (web_fetch)" in asked["message"]
            await talk.answer(asked["request_id"], False)
        await talk.end_of(turn_id)


def _has_ended(world: World, talk: Talk) -> bool:
    """Whether the daemon has seen the end of the session's process."""
    lines = world.node.log.splitlines()
    return any("session process ended" in one and talk.id in one for one in lines)


async def _has_heard_of_rules(world: World, talk: Talk, count: int) -> bool:
    """Whether the session's machine knows of so many rules."""
    start = world.node.home / ".semibot" / "sessions" / talk.id / "start.json"
    return start.read_text().count('"effect"') == count
