"""All groups and persons: their records, and a line for every group.

The REST API and the server's start call this; client edges talk to a group as to any machine.
"""

from trunkline.control.access.auth import Principal
from trunkline.control.groups.asking import close
from trunkline.control.groups.conversation import Conversation
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.records import Group, GroupPatch, NewGroup
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.traits import KINDS
from trunkline.wire.commands import Answer, Cancel, Command, Say, Stop


class Groups(Parts):
    async def start(self) -> None:
        """After a start of the control plane: every group is there, and goes on with its turns."""
        for group_id in await self.records.all_ids():
            await self._attach(group_id)
        for session_id, user_id, org_id in await self.seats.left_over():
            await close(self, Principal(user_id, org_id, "member"), session_id)

    async def _attach(self, group_id: str) -> None:
        machine = await self.machines.get(group_id)
        self.machines.attach(machine, Coordinator(self, machine), fresh=False)
        with machine.input() as core:
            # Of a turn that is open, nobody but the log knows how far it got: it is said again.
            core.resumed([])

    async def create(self, who: Principal, new: NewGroup) -> Group:
        group = await self.records.create(who, new)
        await self._attach(group.id)
        return group

    async def change(self, who: Principal, group_id: str, patch: GroupPatch) -> Group:
        before = await self.records.managed(who, group_id)
        group = await self.records.change(who, group_id, patch)
        kept = {one.id for one in group.persons}
        for person in before.persons:
            if person.id not in kept:
                left = await self.seats.sessions_of(group_id=group_id, person_id=person.id)
                for session_id in left:
                    await close(self, who, session_id)
        return group

    async def remove(self, who: Principal, group_id: str) -> None:
        """Closes the group's conversations; their logs stay readable."""
        await self.records.managed(who, group_id)
        machine = await self.machines.get(group_id)
        for session_id in list(machine.logs):
            await close(self, who, session_id)
        await self.vms.terminate(who, group_id)

    async def remove_person(self, who: Principal, person_id: str) -> None:
        """What the person is doing ends; the groups that it was in go on without it."""
        await self.persons.managed(who, person_id)
        sessions = await self.seats.sessions_of(person_id=person_id)
        await self.persons.remove(person_id)  # first: nobody is to ask it anything more
        for session_id in sessions:
            await close(self, who, session_id)


class Coordinator:
    """A group's line: a machine's like any other, with no wire behind it but persons' sessions.
    Always up."""

    capabilities: frozenset[str] = frozenset()
    traits = KINDS["group"]

    def __init__(self, parts: Parts, machine: Machine) -> None:
        self._parts = parts
        self._machine = machine
        self._conversations: dict[str, Conversation] = {}

    def deliver(self, command: Command) -> None:
        if isinstance(command, Say):
            self._conversation(command.session_id).take(command)
        elif isinstance(command, Cancel | Answer):
            conversation = self._conversations.get(command.session_id)
            if conversation is not None:
                conversation.take(command)
        elif isinstance(command, Stop):
            self._stop(command.session_id)

    def _conversation(self, session_id: str) -> Conversation:
        if session_id not in self._conversations:
            log = self._machine.logs[session_id]
            self._conversations[session_id] = Conversation(
                self._parts, self._machine, log, self._forget
            )
        return self._conversations[session_id]

    def _forget(self, session_id: str) -> None:
        self._conversations.pop(session_id, None)

    def _stop(self, session_id: str) -> None:
        with self._machine.input() as core:
            core.release(session_id)
        conversation = self._conversations.pop(session_id, None)
        if conversation is not None:
            conversation.close()
        self._parts.tasks.spawn(self._close_members(session_id=session_id), "group session closed")

    async def _close_members(self, **wanted: str) -> None:
        owner = Principal(self._machine.user_id, self._machine.org_id, "member")
        for session_id in await self._parts.seats.sessions_of(**wanted):
            await close(self._parts, owner, session_id)

    def acknowledge(self, acked: dict[str, int]) -> None:
        """Nothing here is numbered."""

    def pause(self, paused: bool) -> None:
        """The machines of the persons are paused."""

    def end(self, why: LineEnd) -> None:
        """The group was given up."""
        self._parts.machines.detach(self._machine, self)
        for conversation in self._conversations.values():
            conversation.close()
        self._conversations.clear()
        self._parts.tasks.spawn(self._close_members(group_id=self._machine.id), "group closed")
