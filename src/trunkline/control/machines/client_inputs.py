"""What clients do to the sessions of a machine: inputs of its core. No I/O."""

from typing import Any

from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.machines.actions import (
    Send,
    Status,
)
from trunkline.control.machines.state import Place
from trunkline.control.machines.telling import ENDED, Telling, rules_name
from trunkline.control.sessions.state import SessionState
from trunkline.wire.commands import (
    MOVED,
    Cancel,
    Configure,
    Forward,
    Say,
    Stop,
    size_of,
)

Json = dict[str, Any]

_STEERS_MAX = 100  # messages to one turn


class ClientInputs(Telling):
    """Each is for a session that the machine has."""

    def say(self, say: Say, shown: Json) -> None:
        """A person's message, for which there is room."""
        one = self.state.sessions[say.session_id]
        self._session(one).say(say.turn_id, shown, say.metadata)
        self._hold(one, say.turn_id, say)
        if not self.state.is_up:
            # Whoever reads sees that the message waits, and for what.
            fields = {"machine": "offline", "machine_id": self.state.id, "held": True}
            self.out.append(Status(fields, say.session_id))
        elif self.state.traits.one_turn and len(one.session.queued) > limits.SESSION_PROMPTS_MAX:
            why = f"{limits.SESSION_PROMPTS_MAX} messages wait in this session already"
            session = self._session(one)
            session.finish(say.turn_id, "execution_error", error=why, code="SESSION_BUSY")
        self._advance(one)

    def steer(self, say: Say, shown: Json) -> str | None:
        """A person's message to the turn that runs, whose id it returns. None: there is none that
        could take it, and nothing has happened."""
        one = self.state.sessions[say.session_id]
        state = one.session
        running = next(iter(state.told), None)
        if running is None or running.cancel is not None or len(state.steers) >= _STEERS_MAX:
            return None
        if not (self.state.is_up and self.state.traits.steers):
            return None
        self._session(one).steer(say.turn_id, running.id, shown, say.metadata)
        self._hold_steer(one, say)
        self._advance(one)
        return running.id

    def cancel(self, session_id: str, reason: str) -> bool:
        """Stops what is open; False if nothing is."""
        one = self.state.sessions[session_id]
        is_running = bool(one.session.turns)
        is_away = self.state.traits.cancels_later and not self.state.is_up
        self._session(one).cancel(reason, is_away=is_away)
        if self.state.is_up and not self.state.is_held:
            one.cancelled.update(turn.id for turn in one.session.told)
            self.out.append(Send(Cancel(session_id, reason)))
        self._advance(one)
        return is_running

    def answer(
        self,
        session_id: str,
        request_id: str,
        confirmed: bool,
        answer: Any,
        by: str | None,
        shown: Json,
        *,
        scope: str = "once",
        reason: str = "",
    ) -> bool:
        """A person's answer; False if the question has one, or there is no such question.
        `shown`: what readers see of it. `scope`: for how long it is meant."""
        one = self.state.sessions[session_id]
        is_first = self._session(one).answer(
            request_id, confirmed, answer, by, shown, scope=scope, reason=reason
        )
        self._advance(one)
        return is_first

    def check_change(self, session_id: str, patch: Json, agent_config: Json) -> None:
        """Raises unless the machine can be told of the change, or need not be."""
        if self.is_expected:
            self.check_room(size_of(Configure(session_id, patch, agent_config)))

    def configure(self, session_id: str, patch: Json, agent_config: Json | None = None) -> None:
        """`agent_config`: all of it, for machines that take it as a whole. Behind a turn it may
        wait on a machine that is up."""
        if self.is_expected:
            one = self.state.sessions[session_id]
            command = Configure(session_id, patch, agent_config or {})
            self.check_room(size_of(command))
            self.state.patches += 1
            self._hold(one, f"patch {self.state.patches}", command)
            self._advance(one)

    def rule(self, session_id: str, rules: list[Json]) -> None:
        """Other rules hold. A session that does not run there gets them with its start, if that is
        not being made already; a machine that holds to none is told none; one that is away is told
        all of them on its return."""
        one = self.state.sessions.get(session_id)
        if one is None or not (self.state.is_up and self.state.traits.rules):
            return
        if one.place is Place.ABSENT and not one.is_fetching:
            return
        self._hold(one, rules_name(session_id), Configure(session_id, {"rules": rules}))
        self._advance(one)

    def forward(self, forward: Forward) -> None:
        """A client's words that only the machine understands."""
        if self.state.is_up and not self.state.is_held:
            self.out.append(Send(forward))
            return
        self.check_room(size_of(forward))
        if len(self.state.forwards) >= self.room.forwards_max:
            raise LimitReached("too many messages wait for this machine", code="MACHINE_BUSY")
        self.state.forwards.append(forward)

    def close(self, session_id: str, reason: str, **shown: Any) -> None:
        one = self.state.sessions[session_id]
        one.stop_reason = reason
        self._session(one).close(reason, **shown)
        if self.state.status == "pending" or self.state.status in ENDED:
            self._settle(one)  # it was never there, or never will be again
        elif not self.is_expected:
            self.release(session_id)  # it is told if it ever returns
        else:
            self._advance(one)

    def move(self, session_id: str, machine_id: str) -> SessionState:
        """Gives the session to another machine, which has to adopt it at once."""
        one = self.state.sessions[session_id]
        self._session(one).move(machine_id)
        if self.state.is_up:
            self.out.append(Send(Stop(session_id, MOVED)))
        self.release(session_id)
        return one.session
