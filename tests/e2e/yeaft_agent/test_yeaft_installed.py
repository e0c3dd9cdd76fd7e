"""A Yeaft agent that was installed as its manual says: the address, and the secret that its owner
is shown. Nothing was prepared for it here."""

from collections.abc import Callable

import pytest

from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser
from tests.support.eventually import eventually
from tests.support.installed_yeaft_agent import COMMANDS, InstalledAgent
from tests.support.peer import Json
from trunkline.control.clock import Seconds

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICY = 1008
FILE = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}


@pytest.fixture(scope="module")
def now() -> Seconds:
    """Silence lasts as long as a test says."""
    return Clock()


async def installed(
    control: LocalControl, user: TestUser, instance: str = "3f1c", name: str = "laptop"
) -> InstalledAgent:
    """It is not connected yet."""
    secret = await control.core.user_secrets.show(user.id)
    return InstalledAgent(control.url, secret, instance, name)


async def machines(user: TestUser) -> list[Json]:
    found: list[Json] = (await user.ok("GET", "/machines"))["items"]
    return found


async def events(user: TestUser, session: str) -> list[Json]:
    found = await user.ok("GET", f"/sessions/{session}/events")
    return [one["event"] for one in found["items"]]


async def ended(user: TestUser, session: str, count: int) -> list[Json]:
    """The ends of its turns, when there are so many."""

    async def look() -> list[Json]:
        return [one for one in await events(user, session) if one["type"].startswith("execution_")]

    return await eventually(look, lambda found: len(found) >= count)


@pytest.mark.proves("notes-3-found-by-secret", "notes-3-instance-names-the-agent")
@pytest.mark.proves("notes-3-cost-is-the-difference", "notes-3-title-from-the-first-prompt")
async def test_an_agent_with_nothing_but_its_owners_secret_talks(
    control: LocalControl, user: TestUser
) -> None:
    async with await installed(control, user) as agent:
        [machine] = await machines(user)
        assert (machine["name"], machine["kind"], machine["online"]) == ("laptop", "yeaft", True)
        assert machine["id"] == (await agent.expect("registered"))["agentId"]
        session = await user.session(machine_id=machine["id"])
        for number, text in enumerate(("one", "two", "three"), 1):
            await user.say(session, text)
            ends = await ended(user, session, number)
            assert ends[-1]["type"] == "execution_complete"
            assert ends[-1]["content"] == f"You said {text}"
        costs = [one["cost_usd"] for one in await events(user, session) if one["type"] == "usage"]
        assert costs == [0.01, 0.01, 0.01]
        assert (await user.ok("GET", f"/sessions/{session}"))["title"] == "one"
        [machine] = await machines(user)
        assert machine["health"]["slashCommands"] == COMMANDS


async def test_an_owner_has_many_agents_and_each_comes_back_as_itself(
    control: LocalControl, user: TestUser
) -> None:
    async with (
        await installed(control, user, "i-1", "desk") as desk,
        await installed(control, user, "i-2", "lap") as lap,
    ):
        ids = {one["name"]: one["id"] for one in await machines(user)}
        assert set(ids) == {"desk", "lap"}
        session = await user.session(machine_id=ids["lap"])
        await user.say(session, "hello")
        await ended(user, session, 1)
        async with await installed(control, user, "i-2", "renamed") as newer:
            assert await lap.closed() == POLICY
            assert (await newer.expect("registered"))["agentId"] == ids["lap"]
            await user.say(session, "still there?")
            assert (await ended(user, session, 2))[-1]["content"] == "You said still there?"
        await desk.ping()
    assert {one["id"] for one in await machines(user)} == set(ids.values())


@pytest.mark.proves("notes-3-end-behind-context-usage")
async def test_a_second_message_with_files_ends_though_the_agent_does_not_say_so(
    control: LocalControl, user: TestUser, now: Clock
) -> None:
    async with await installed(control, user) as agent:
        [machine] = await machines(user)
        session = await user.session(machine_id=machine["id"])
        await user.say(session, "first")
        await ended(user, session, 1)
        metadata = {"attachments": [FILE]}
        await user.say(session, "read it", metadata=metadata)
        assert (await agent.prompt("read it"))["type"] == "transfer_files"
        await user.say(session, "next")  # waits for the turn's end
        await said(user, session, "context_usage")
        control.sweep()
        await now.pass_time(9)
        control.sweep()
        assert len(await ended(user, session, 1)) == 1
        await now.pass_time(2)
        control.sweep()
        ends = await ended(user, session, 3)
        contents = ["You said first", "You said read ita.txt", "You said next"]
        assert [(one["type"], one["content"]) for one in ends] == [
            ("execution_complete", content) for content in contents
        ]


async def said(user: TestUser, session: str, name: str) -> None:
    """The agent's second message of that name is in the log."""
    is_there: Callable[[Json], bool] = lambda one: one.get("name") == name  # noqa: E731

    async def look() -> int:
        return sum(map(is_there, await events(user, session)))

    await eventually(look, lambda found: found >= 2)


async def test_a_secret_that_is_renewed_lets_nobody_in_any_more(
    control: LocalControl, user: TestUser
) -> None:
    agent = await installed(control, user)
    await control.core.user_secrets.renew(user.id)
    await agent.connect()
    challenge = await agent.expect("auth_required")
    await agent.send({"type": "auth", "tempId": challenge["tempId"], "secret": agent.secret})
    assert await agent.closed() == POLICY
    await agent.leave()
    assert await machines(user) == []
