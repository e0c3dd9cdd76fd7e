"""A group's line: a machine's line like any other, with no wire behind it but persons' sessions."""

from trunkline.control.access.auth import Principal
from trunkline.control.groups.conversation import Conversation
from trunkline.control.groups.membership import close
from trunkline.control.groups.parts import Parts
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.traits import KINDS
from trunkline.wire.commands import Answer, Cancel, Command, Say, Stop


class Coordinator:
    """The `Line` of one group. Always up."""

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

    def close(self, code: int, reason: str) -> None:
        """The group was given up."""
        self._parts.machines.detach(self._machine, self)
        for conversation in self._conversations.values():
            conversation.close()
        self._conversations.clear()
        self._parts.tasks.spawn(self._close_members(group_id=self._machine.id), "group closed")
