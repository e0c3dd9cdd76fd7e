"""A machine's core by hand: time is set, actions are kept, and no loop runs."""

import json
from typing import Any

from trunkline.control.log import events
from trunkline.control.machines.actions import Action, Append, Fetch, Load, Send, Time
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.state import MachineState
from trunkline.control.machines.traits import KINDS, Traits
from trunkline.control.sessions import notes
from trunkline.control.sessions import state as states
from trunkline.control.sessions.state import SessionState
from trunkline.wire.commands import Command, Say, Start

Json = dict[str, Any]

VM = KINDS["vm"]
NUMBERED = Traits(numbers=True)
AGP = KINDS["agp"]
YEAFT = KINDS["yeaft"]
GROUP = KINDS["group"]

AWAY_S = 60.0


def start_of(session_id: str = "s") -> Start:
    return Start(session_id, "semigraph", {}, [], [], [], {})


def say_of(turn_id: str, session_id: str = "s", text: str = "hello") -> Say:
    return Say(session_id, turn_id, text, [], {})


def core_of(
    machine_id: str, traits: Traits, time: Time, status: str = "offline", *, away_s: float = AWAY_S
) -> MachineCore:
    """A machine that was here a moment ago."""
    known = MachineState(
        id=machine_id, own_traits=traits, traits=traits, status=status, last_seen_ms=time.ms
    )
    return MachineCore(known, time, away_s=away_s)


class Pure:
    """One machine and its sessions."""

    def __init__(self, traits: Traits = VM, state: str = "offline") -> None:
        self.time = Time(ms=1_000_000, s=500.0)
        self.traits = traits
        self.core = core_of("m", traits, self.time, state)

    def adopt(self, session_id: str = "s", state: SessionState | None = None) -> SessionState:
        """A session that was there before."""
        adopted = state or SessionState("m")
        self.core.adopt(session_id, adopted)
        return adopted

    def state(self, session_id: str = "s") -> SessionState:
        return self.core.state.sessions[session_id].session

    def reborn(self) -> "Pure":
        """The same machine after a restart of the control plane: only states are left."""
        again = Pure(self.traits)
        again.time.ms, again.time.s = self.time.ms, 500.0
        again.core.state.last_seen_ms = again.time.ms
        for session_id, one in self.core.state.sessions.items():
            again.adopt(session_id, states.decode(one.session.encode()))
        return again

    def passes(self, seconds: float) -> None:
        self.time.s += seconds
        self.time.ms += int(seconds * 1000)
        self.core.tick()

    # The machine

    def up(self, *, fresh: bool = False, traits: Traits | None = None) -> None:
        self.core.line_up(traits or self.traits, is_fresh=fresh)

    def returns(self, *, listing: set[str] | None = None) -> None:
        """A line that has said all that it has to say first."""
        self.up()
        self.core.resumed()
        if listing is not None:
            self.core.listed(listing)

    def running(self, session_id: str = "s") -> None:
        """A session that runs on a machine that is up."""
        self.adopt(session_id)
        self.returns(listing={session_id})
        self.core.out.clear()

    def hears(self, kind: str, session_id: str = "s", **fields: Any) -> None:
        """An event of the machine, the way the router brings it."""
        line = events.make(kind, self.time.ms, **fields)
        event = events.look(line)
        assert event is not None
        if self.core.awaits(session_id):
            self.core.spoke(session_id)
        self.core.heard(session_id, event, line)

    # Clients

    def say(self, turn_id: str, session_id: str = "s", text: str = "hello") -> None:
        self.core.say(say_of(turn_id, session_id, text), {"content": text})

    # What came of it

    def actions(self) -> list[Action]:
        found, self.core.out[:] = self.core.out[:], []
        return found

    def sent(self) -> list[Command]:
        """What the machine was told since the last look; everything else is forgotten."""
        return [one.command for one in self.actions() if isinstance(one, Send)]

    def asked(self) -> list[Fetch | Load]:
        return [one for one in self.actions() if isinstance(one, Fetch | Load)]

    def appended(self) -> list[Json | notes.Note]:
        return [
            notes.decode(one.text) if one.is_note else json.loads(one.text)
            for one in self.actions()
            if isinstance(one, Append)
        ]

    def ends(self) -> list[tuple[str, str | None]]:
        """The turns that were ended since the last look, with the code or the outcome."""
        return [
            (one["turn_id"], one.get("code") or ("cancelled" if one.get("cancelled") else None))
            for one in self.appended()
            if isinstance(one, dict) and one["type"] in events.TERMINAL
        ]
