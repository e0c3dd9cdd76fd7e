"""kill -9 in the middle of a group's turn: its persons go on, and so does the group."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")

_WORD_S = 0.02  # between two words of a person


class Person:
    """A person whose machine keeps what it said until that is safe (`seq`).

    As a real one it sends in order, over one line at a time: what is said while that is down waits
    until it has said everything before.
    """

    def __init__(self, user: TestUser, name: str, person_id: str, vm: ScriptedVm) -> None:
        self._user = user
        self.name = name
        self.id = person_id
        self.vm = vm
        self.session = ""
        self._outbox: list[str] = []
        self._sending = asyncio.Lock()
        self._sent = 0
        self._is_up = True
        self.messages: list[str] = []

    async def asked(self) -> str:
        """Waits for one more message than were asked for before, over all lines."""
        number = len(self.messages)

        def fresh() -> list[dict[str, Any]]:
            found = self.vm.of_type("user_message")
            return [one for one in found if one["data"]["turn_id"] not in self.messages]

        async def look() -> list[dict[str, Any]]:
            return fresh()

        message = (await eventually(look))[0]
        self.session = message["session_id"]
        self.messages.append(message["data"]["turn_id"])
        assert len(self.messages) == number + 1
        return str(message["data"]["message"])

    async def does(self, **event: Any) -> None:
        """Says something, whether the line is up or not."""
        event.setdefault("turn_id", self.messages[-1])
        self._outbox.append(json.dumps(event))
        if not self._sending.locked():  # else whoever is at it sends this too
            async with self._sending:
                await self._send()

    async def _send(self) -> None:
        while self._is_up and self._sent < len(self._outbox):
            message = {"type": "sse_event", "session_id": self.session, "seq": self._sent + 1}
            try:
                await self.vm.send({**message, "data": self._outbox[self._sent]})
            except (aiohttp.ClientError, ConnectionError):
                self._is_up = False
                return
            self._sent += 1

    async def returns(self) -> None:
        async with self._sending:
            await self.vm.drop()
            self.vm = self._user.again(self.vm)
            await self.vm.connect()
            init = await self.vm.authenticate("seq")
            await self.vm.send({"type": "resume", "turns": self.messages})
            await self.vm.heartbeat(*([self.session] if self.session else []))
            self._sent, self._is_up = init["data"]["acked"].get(self.session, 0), True
            await self._send()


class Team:
    def __init__(self, user: TestUser, session: str, persons: dict[str, Person]) -> None:
        self.user = user
        self.session = session
        self.persons = persons

    @classmethod
    async def make(cls, process: ControlProcess, *names: str) -> "Team":
        user = await process.user()
        persons = {}
        for name in names:
            scheduled = await user.schedule()
            vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
            await vm.connect()
            await vm.authenticate("seq")
            await vm.heartbeat()
            made = await user.ok(
                "POST", "/persons", {"name": name, "machine_id": scheduled["vm_id"]}
            )
            persons[name] = Person(user, name, made["id"], vm)
        ids = [one.id for one in persons.values()]
        group = await user.ok("POST", "/groups", {"name": "team", "person_ids": ids})
        return cls(user, await user.session(machine_id=group["id"]), persons)

    async def restart(self, process: ControlProcess) -> None:
        await process.kill()
        await process.start()
        for person in self.persons.values():
            await person.returns()

    async def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            after = found[-1]["id"] if found else 0
            page = await self.user.ok("GET", f"/sessions/{self.session}/events?after={after}")
            if not page["items"]:
                break
            found += page["items"]
        return [one["event"] for one in found if kind in (None, one["event"]["type"])]

    async def end(self, turn: str) -> dict[str, Any]:
        async def look() -> list[dict[str, Any]]:
            events = await self.events("execution_complete") + await self.events("execution_error")
            return [event for event in events if event["turn_id"] == turn]

        return (await eventually(look))[0]

    async def leave(self) -> None:
        for person in self.persons.values():
            await person.vm.leave()


async def test_killed_in_the_middle_of_answers_nothing_is_lost_or_comes_twice(
    process: ControlProcess,
) -> None:
    team = await Team.make(process, "alice", "bob")
    turn = await team.user.say(team.session, "count")
    for person in team.persons.values():
        await person.asked()
    said: dict[str, list[str]] = {name: [] for name in team.persons}

    async def speak(person: Person, restarted: asyncio.Task[None]) -> None:
        """Word after word, whoever listens."""
        while not restarted.done():
            said[person.name].append(f"{len(said[person.name])} ")
            await person.does(type="text_chunk", content=said[person.name][-1])
            await asyncio.sleep(_WORD_S)

    for _ in range(3):
        known = len(await team.events("text_chunk"))

        async def restart(known: int = known) -> None:
            await eventually(lambda: team.events("text_chunk"), lambda found: len(found) > known)
            await team.restart(process)

        restarted = asyncio.create_task(restart())
        await asyncio.gather(*(speak(person, restarted) for person in team.persons.values()))
        await restarted
    for person in team.persons.values():
        await person.does(type="execution_complete", content=f"{person.name} is done")
    end = await team.end(turn)
    assert end["content"] == "alice: alice is done\n\nbob: bob is done"
    for name in team.persons:
        heard = [one for one in await team.events("text_chunk") if one["person"]["name"] == name]
        assert [one["content"] for one in heard] == said[name]
        assert {one["turn_id"] for one in heard} == {turn}
    for kind, count in (("person_start", 2), ("person_complete", 2), ("execution_complete", 1)):
        assert len(await team.events(kind)) == count
    assert all(len(person.messages) == 1 for person in team.persons.values())
    await team.leave()


async def test_killed_at_the_moment_of_an_answer_it_is_passed_on_all_the_same(
    process: ControlProcess,
) -> None:
    team = await Team.make(process, "alice", "bob")
    turn = await team.user.say(team.session, "@alice begin")
    alice, bob = team.persons.values()
    await alice.asked()
    await alice.does(type="execution_complete", content="@bob your turn")
    await team.restart(process)
    assert (await bob.asked()).endswith("[alice says to you]\n@bob your turn")
    await team.restart(process)
    await bob.does(type="execution_complete", content="@alice and yours")
    await team.restart(process)
    await alice.asked()
    await alice.does(type="execution_complete", content="good")
    await team.restart(process)
    end = await team.end(turn)
    assert end["content"] == "alice: @bob your turn\n\nbob: @alice and yours\n\nalice: good"
    started = await team.events("person_start")
    assert [one["person"]["name"] for one in started] == ["alice", "bob", "alice"]
    assert (len(alice.messages), len(bob.messages)) == (2, 1)
    assert len(await team.events("execution_complete")) == 1
    await team.leave()


async def test_killed_before_anybody_was_asked_everybody_is(process: ControlProcess) -> None:
    team = await Team.make(process, "alice", "bob")
    for number in range(3):
        turn = await team.user.say(team.session, f"round {number}")
        await team.restart(process)
        for person in team.persons.values():
            assert f"round {number}" in await person.asked()
            await person.does(type="execution_complete", content=f"{person.name} {number}")
        assert (await team.end(turn))["content"] == f"alice: alice {number}\n\nbob: bob {number}"
    assert len(await team.events("person_start")) == 6
    await team.leave()


async def test_what_a_person_was_at_before_a_restart_goes_on_before_what_waits_for_it(
    process: ControlProcess,
) -> None:
    team = await Team.make(process, "alice", "bob")
    alice, bob = team.persons.values()
    first = await team.user.say(team.session, "@bob begin")
    await bob.asked()
    second = await team.user.say(team.session, "@alice something else")
    await alice.asked()
    await bob.does(type="execution_complete", content="@alice when you have time")

    async def waits() -> bool:
        return len(await team.events("person_start")) == 3

    await eventually(waits)
    await team.restart(process)
    await alice.does(type="execution_complete", content="something")
    assert (await team.end(second))["content"] == "alice: something"
    assert (await alice.asked()).endswith("[bob says to you]\n@alice when you have time")
    await alice.does(type="execution_complete", content="now")
    assert (await team.end(first))["content"].endswith("alice: now")
    await team.leave()


async def test_an_answer_to_a_question_gets_through_a_restart(process: ControlProcess) -> None:
    team = await Team.make(process, "alice")
    turn = await team.user.say(team.session, "do it")
    alice = team.persons["alice"]
    await alice.asked()
    await alice.does(type="approval_request", request_id="q-1", kind="approve", message="may I?")

    async def asked() -> list[dict[str, Any]]:
        found = await team.user.ok("GET", "/approvals")
        return [one for one in found["items"] if one["session_id"] == team.session]

    approval = (await eventually(asked))[0]
    await team.restart(process)
    await team.user.ok("POST", f"/approvals/{approval['id']}", {"confirmed": True})
    answer = await alice.vm.expect("approval_response")
    assert (answer["data"]["request_id"], answer["data"]["confirmed"]) == ("q-1", True)
    await alice.does(type="execution_complete", content="done")
    await team.end(turn)
    assert len(await team.events("approval_request")) == 1
    assert [one["confirmed"] for one in await team.events("approval_resolved")] == [True]
    await team.leave()


async def test_a_cancelled_turn_is_still_cancelled_after_a_restart(
    process: ControlProcess,
) -> None:
    team = await Team.make(process, "alice")
    turn = await team.user.say(team.session, "go on for ever")
    alice = team.persons["alice"]
    await alice.asked()
    await team.user.ok("POST", f"/sessions/{team.session}/cancel")
    await alice.vm.expect("cancel")
    await team.restart(process)
    await alice.vm.expect("cancel")
    await alice.does(type="execution_complete", content="stopped", cancelled=True)
    end = await team.end(turn)
    assert (end["content"], end["cancelled"]) == ("alice: stopped", True)
    await team.leave()
