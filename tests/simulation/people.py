"""What people do in a run: they say, stop, answer, change, move and close, and try again."""

import json
from typing import TYPE_CHECKING, Any, Literal

from tests.simulation.control import WHO, Control
from trunkline.control.errors import LimitReached, TrunklineError
from trunkline.control.sessions.records import NewMessage
from trunkline.wire.commands import Forward

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.loop import VirtualLoop
    from tests.simulation.stores import Disk

WhenBusy = Literal["queue", "steer", "replace"]
_PLENTY_BYTES = 1_000_000
"""Nothing that is said here comes near it."""
_REFUSALS = frozenset(("MACHINE_BUSY", "MACHINE_OFFLINE", "SESSION_CLOSED", "SESSION_NOT_FOUND"))


class Message:
    """Something that a person says, again and again until it is accepted."""

    def __init__(self, session_id: str, name: str, when_busy: WhenBusy) -> None:
        self.session_id = session_id
        self.name = name
        self.when_busy = when_busy
        self.turn_id: str | None = None
        self.is_refused = False


class People:
    """The part of a run that asks the control plane for something."""

    random: "Random"
    loop: "VirtualLoop"
    disk: "Disk"
    deaths: int
    _is_calm: bool

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.answers: dict[tuple[str, str], int] = {}
        """How many answers to a question were accepted."""
        self.closed: set[str] = set()
        self.asked: dict[int, int] = {}
        """What machines were asked, in which life of the control plane, and nobody answered."""
        self.changed: dict[str, int] = {}
        """The life in which each session's configuration was last changed."""
        self._changes = 0

    @property
    def control(self) -> Control | None:
        raise NotImplementedError

    def trace(self, text: str) -> None:
        raise NotImplementedError

    def after(self, delay_s: float, call: Any, *args: Any) -> None:
        raise NotImplementedError

    def soon(self) -> None:
        raise NotImplementedError

    def _ask(self, work: Any) -> None:
        raise NotImplementedError

    def _do(self, call: Any, *args: Any) -> None:
        raise NotImplementedError

    def _number(self) -> int:
        self._changes += 1
        return self._changes

    def _check_refusal(self, error: TrunklineError, session_id: str) -> None:
        """It says why, and that is so."""
        control = self.control
        assert control is not None
        if error.code not in _REFUSALS:
            self.loop.problems.append(f"somebody is refused with {error.code}: {error.message}")
        if error.code != "MACHINE_BUSY":
            return
        machine = control.machines.holder(session_id, "")
        if machine is None or not isinstance(error, LimitReached):
            self.loop.problems.append(f"somebody is refused with {error!r}")
            return
        core, room = machine.core, machine.core.room
        is_full = len(core.state.forwards) >= room.forwards_max
        is_full |= not core.state.is_up and core.held_count >= room.messages_max
        if not is_full and room.bytes_max >= _PLENTY_BYTES:
            self.loop.problems.append(f"{machine.id} is called busy, and has room")

    async def _say(self, message: Message) -> None:
        control = self.control
        assert control is not None
        new = NewMessage(
            message=message.name, client_message_id=message.name, when_busy=message.when_busy
        )
        if self.random.random() < 0.3:
            new.metadata = {"of": message.name}
        try:
            turn_id = await control.sessions.send(WHO, message.session_id, new)
        except TrunklineError as error:
            self.trace(f"{message.name} is refused: {error.code}")
            self._check_refusal(error, message.session_id)
            message.is_refused = True
            return
        self.trace(f"{message.name} is accepted as {turn_id}")
        self._rule_soon(message.session_id)
        if message.turn_id not in (None, turn_id):
            raise AssertionError(f"{message.name} was accepted twice")
        message.turn_id, message.is_refused = turn_id, False

    async def _cancel(self, session_id: str) -> None:
        control = self.control
        assert control is not None
        await control.sessions.cancel(WHO, session_id, "enough")

    async def _answer(self, session_id: str, request_id: str, confirmed: bool) -> None:
        control = self.control
        assert control is not None
        try:
            await control.sessions.answer(
                WHO, request_id, confirmed, {"by": request_id}, session_id=session_id
            )
        except TrunklineError:
            return
        self.trace(f"{request_id} is answered {confirmed}")
        key = session_id, request_id
        self.answers[key] = self.answers.get(key, 0) + 1

    async def _close(self, session_id: str) -> None:
        control = self.control
        assert control is not None
        self.soon()
        await control.sessions.close(WHO, session_id)
        self.trace(f"{session_id} is closed")
        self.closed.add(session_id)

    async def _move(self, session_id: str, machine_id: str) -> None:
        control = self.control
        assert control is not None
        self.soon()
        try:
            await control.sessions.move(WHO, session_id, machine_id)
        except TrunklineError as error:
            self.trace(f"{session_id} is not moved: {error.code}")
            return
        self.trace(f"{session_id} is moved to {machine_id}")
        self._rule_soon(session_id)

    async def _configure(self, session_id: str) -> None:
        control, number = self.control, self._number()
        assert control is not None
        try:
            await control.sessions.configure(WHO, session_id, {"system_prompt": f"{number}"})
        except TrunklineError as error:
            self.trace(f"{session_id} is not configured: {error.code}")
            self._check_refusal(error, session_id)
            if self.disk.sessions[session_id]["config"].get("system_prompt") == f"{number}":
                self.loop.problems.append(f"a refused change of {session_id} is in its record")
            return
        self.trace(f"{session_id} is configured: {number}")
        self.changed[session_id] = self.deaths

    async def _rule(self, session_id: str) -> None:
        control, number = self.control, self._number()
        assert control is not None
        self.trace(f"{session_id} gets the rules {number}")
        await control.rules.make(session_id, number)

    def _rule_soon(self, session_id: str) -> None:
        """While the session may be about to start somewhere; two at once, now and then."""
        if self.random.random() < 0.1:
            for _ in range(self.random.choice((1, 2))):
                delay_s = self.random.choice((0.0, 0.003, 0.01, 0.03))
                self.after(delay_s, self._do, self._rule, session_id)

    async def _forward(self, session_id: str) -> None:
        """A client's words that only an agent understands."""
        control = self.control
        assert control is not None
        machine = control.machines.holder(session_id, "")
        if machine is None or machine.kind != "yeaft":
            return
        words = json.dumps({"type": "refresh_conversation", "conversationId": session_id})
        try:
            with machine.input() as core:
                core.forward(Forward(session_id, "yeaft", words))
        except TrunklineError as error:
            self._check_refusal(error, session_id)

    async def _query(self, session_id: str) -> None:
        """Somebody wants to know what only the machine knows: an answer or an error, in time."""
        control, number = self.control, self._number()
        assert control is not None
        machine = control.machines.holder(session_id, "")
        if machine is None:
            return
        self.asked[number] = self.deaths
        try:
            answer = await control.queries.ask(machine, "get", {"of": number})
            if answer != {"of": number}:
                self.loop.problems.append(f"the answer to {number} is {answer}")
        except TrunklineError as error:
            self.trace(f"{machine.id} does not answer {number}: {error.code}")
        del self.asked[number]

    def _talk(self, message: Message, tries: int) -> None:
        if message.turn_id is None and not message.is_refused and tries > 0:
            self._ask(self._say(message))
            self.after(self.random.choice((0.5, 3.0, 30.0)), self._talk, message, tries - 1)

    def _answer_all(self) -> None:
        """Somebody looks at what waits, and answers; sometimes two at once."""
        for (session_id, request_id), row in list(self.disk.approvals.items()):
            if row["state"] == "pending" and (self._is_calm or self.random.random() < 0.7):
                for _ in range(1 + (self.random.random() < 0.3)):
                    confirmed = self.random.random() < 0.5
                    self._ask(self._answer(session_id, request_id, confirmed))
