"""After a restart of either side: what was forgotten is found again in records and log.

`recover` runs before anybody is let in; the VM edge calls `redeliver` for a machine's return.
"""

from trunkline.control.log import events
from trunkline.control.log.log import Log, SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.sessions.lifecycle import Lifecycle
from trunkline.control.sessions.turns import Turn, Turns, history_of, say
from trunkline.control.tasks import Tasks

_CATCH_UP_EVENTS = 5000
_ANSWERS_AGAIN = 5  # of a session; to one that has its answer already, it means nothing


class Recovery:
    def __init__(
        self, lifecycle: Lifecycle, turns: Turns, log: Log, machines: Machines, tasks: Tasks
    ) -> None:
        self._lifecycle = lifecycle
        self._turns = turns
        self._log = log
        self._machines = machines
        self._tasks = tasks
        machines.on_listed = self._listed

    # --- The control plane was restarted ------------------------------------------------------

    async def recover(self) -> None:
        """At the start: the records catch up with the log, and machines with open turns are
        watched, whether anybody asks or not."""
        for machine_id in await self._turns.machines_with_open():
            machine = await self._machines.get(machine_id)
            open_turns: dict[str, list[str]] = {}
            for turn in await self._turns.open_of(list(machine.logs)):
                open_turns.setdefault(turn.session_id, []).append(turn.id)
            for session_id, turn_ids in open_turns.items():
                await self._catch_up(machine, machine.logs[session_id], turn_ids)

    async def _catch_up(self, machine: Machine, log: SessionLog, open_turns: list[str]) -> None:
        """Applies the ends and questions that were committed just before a crash, and whose
        record was not written any more."""
        session_id = log.session_id
        after = max(0, log.last_id - _CATCH_UP_EVENTS)
        watched = [
            (event, line)
            async for page in self._log.pages(log, after, log.last_id)
            for _, line in page
            if (event := events.look(line)) is not None
        ]
        said = [event.turn for event, _ in watched if event.type == "user_message"]
        waiting = [turn for turn in open_turns if turn not in said]
        asked = [event.request for event, _ in watched if event.type == "approval_request"]
        for event, line in watched:
            if event.type == "user_message" and event.turn is not None:
                waiting.append(event.turn)
            elif event.type in events.TERMINAL and waiting:
                ended = event.turn if event.turn in waiting else waiting[0]
                waiting.remove(ended)
                if ended in open_turns:
                    machine.ends.close(session_id, ended)
                    await self._lifecycle.record_end(session_id, event, ended)
            elif event.type.startswith("approval_") and set(waiting).intersection(open_turns):
                again = event.request in asked[-_ANSWERS_AGAIN:]
                work = self._lifecycle.questions.heard(
                    machine, session_id, event, line, answer_again=again
                )
                if work is not None:
                    await work

    # --- A machine has come back --------------------------------------------------------------

    async def redeliver(self, machine: Machine, known_turns: list[str] | None) -> None:
        """Messages that the machine never got, which a restart of ours forgot.

        A machine that names its turns also gets again what was lost on the way to it.
        """
        for turn in await self._turns.open_of(list(machine.logs)):
            lost = known_turns is not None and turn.state == "sent" and turn.id not in known_turns
            if (turn.state == "queued" or lost) and not machine.ends.has_ended(turn.id):
                await self.say_again(machine, turn)
        if known_turns:
            machine.turns_kept = frozenset(known_turns)
            if machine.lists_sessions:
                self._listed(machine)

    async def say_again(self, machine: Machine, turn: Turn) -> None:
        recent = await self._turns.recent(turn.session_id)
        history = history_of([one for one in recent if one.id < turn.id])
        self._machines.delivery.send(machine, say(turn, history))

    def _listed(self, machine: Machine) -> None:
        """The machine has said which turns it kept and which sessions it runs."""
        if machine.turns_kept:
            kept, machine.turns_kept = machine.turns_kept, frozenset()
            self._tasks.spawn(self._start_again(machine, kept), "turns that go on")
        missed = _missed(machine)
        if missed:
            self._tasks.spawn(self._say_missed(machine, missed), "turns that were missed")

    async def _start_again(self, machine: Machine, kept: frozenset[str]) -> None:
        """A machine that was restarted kept its turns that wait for a person: they go on when
        their session runs again."""
        for turn in await self._turns.open_of(list(machine.logs)):
            if turn.id in kept and not machine.ends.has_ended(turn.id):
                await self._machines.delivery.ensure_started(machine, turn.session_id)

    async def _say_missed(self, machine: Machine, missed: set[str]) -> None:
        """Messages to sessions that do not run after all: they go out again behind a start."""
        for turn in await self._turns.open_of(list(machine.logs)):
            if turn.id in missed & machine.turns_sent and not machine.ends.has_ended(turn.id):
                machine.turns_sent.discard(turn.id)
                await self.say_again(machine, turn)


def _missed(machine: Machine) -> set[str]:
    """The turns whose session the machine does not list, and has not spoken of since they went
    out. Each is looked at once: a session that was listed later has its message."""
    missed: set[str] = set()
    for turn_id, (session_id, seq) in list(machine.turns_unheard.items()):
        if session_id in machine.starting:
            continue  # its start is on its way
        del machine.turns_unheard[turn_id]
        log = machine.logs.get(session_id)
        runs = machine.running is None or session_id in machine.running
        if log is not None and log.machine_seq == seq and not runs:
            missed.add(turn_id)
    return missed
