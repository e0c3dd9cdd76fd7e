"""A group of persons on scripted machines, as a user makes one over REST."""

from typing import Any

from tests.support.control import TestUser
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm


class ScriptedPerson:
    """A person and the machine that it lives on."""

    def __init__(self, name: str, person_id: str, vm: ScriptedVm) -> None:
        self.name = name
        self.id = person_id
        self.vm = vm
        self._heard = 0

    async def asked(self) -> dict[str, Any]:
        """The next message that the person has not looked at yet."""
        number = self._heard
        self._heard += 1

        def is_next(message: dict[str, Any]) -> bool:
            return self.vm.of_type("user_message").index(message) == number

        return await self.vm.expect("user_message", is_next)

    async def answer(self, message: dict[str, Any], text: str) -> None:
        """Streams the text in two pieces and ends the turn."""
        session = message["session_id"]
        await self.vm.text(session, text[:3], text[3:])
        await self.vm.event(session, type="execution_complete", content=text)

    async def answers(self, text: str) -> str:
        """Waits to be asked, and answers. Returns what was asked."""
        message = await self.asked()
        await self.answer(message, text)
        return str(message["data"]["message"])


class ScriptedGroup:
    """A group, one conversation in it, and its persons by name."""

    def __init__(
        self, user: TestUser, group_id: str, session: str, persons: dict[str, ScriptedPerson]
    ) -> None:
        self.user = user
        self.id = group_id
        self.session = session
        self.persons = persons

    def __getitem__(self, name: str) -> ScriptedPerson:
        return self.persons[name]

    @classmethod
    async def make(cls, user: TestUser, *names: str, name: str = "team") -> "ScriptedGroup":
        """Each person on a machine of its own."""
        persons = {}
        for one in names:
            scheduled = await user.schedule()
            vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
            await vm.connect()
            await vm.authenticate()
            body = {"name": one, "prompt": f"You like {one}.", "machine_id": scheduled["vm_id"]}
            made = await user.ok("POST", "/persons", body)
            persons[one] = ScriptedPerson(one, made["id"], vm)
        ids = [person.id for person in persons.values()]
        group = await user.ok("POST", "/groups", {"name": name, "person_ids": ids})
        session = await user.session(machine_id=group["id"])
        return cls(user, group["id"], session, persons)

    async def say(self, text: str, **fields: Any) -> str:
        return await self.user.say(self.session, text, **fields)

    def reader(self, **options: Any) -> SseReader:
        return self.user.reader(self.session, **options)

    async def leave(self) -> None:
        for person in self.persons.values():
            await person.vm.leave()


def of(reader: SseReader, kind: str) -> list[dict[str, Any]]:
    """The events of that type, in order."""
    events = [event.json for event in reader.events if event.id is not None]
    return [event for event in events if event["type"] == kind]


async def ended(reader: SseReader, turn_id: str) -> dict[str, Any]:
    """The end of that turn."""

    def ends(one: SseReader) -> list[dict[str, Any]]:
        found = of(one, "execution_complete") + of(one, "execution_error")
        return [event for event in found if event["turn_id"] == turn_id]

    await reader.until(lambda one: bool(ends(one)), "the end of the group's turn")
    return ends(reader)[0]
