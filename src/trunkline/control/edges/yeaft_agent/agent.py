"""Runs one Yeaft agent: hands what happens to the pure `AgentTalk`, and does what that wants done.

Outlives the agent's lines. Kept by the host.
"""

import asyncio
from typing import Protocol

import msgspec
import structlog
from sqlalchemy import update

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.edges.runner import Runner
from trunkline.control.machines.machine import Machine
from trunkline.control.store import schema
from trunkline.control.tasks import Serial
from trunkline.control.tuning import Tuning
from trunkline.wire import actions
from trunkline.wire.actions import Action
from trunkline.wire.commands import Command
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.agent import SlashCommands, slash_commands_of
from trunkline.wire.yeaft.agent_state import AgentState, Owner
from trunkline.wire.yeaft.agent_talk import AgentTalk
from trunkline.wire.yeaft.conversation import Bounds
from trunkline.wire.yeaft.messages import Envelope, SlashCommandsUpdate
from trunkline.wire.yeaft.questions import Pending

_log = structlog.get_logger(__name__)

_machines = schema.machines
_COMMANDS_MAX = 500  # that one agent takes behind a slash
_RESUME_WAIT_S = 2.0  # for an answer to `resume_conversation`, which some agents do not give
_QUIET_S = 10.0  # an agent that says no more for so long has ended its turn, if it may have
_SILENCE_S = 120.0  # for a word of what it had begun, when its line came back
_BUSY_SILENCE_S = 600.0  # the same, where it lists that as its work: a tool may run for long


class Sender(Protocol):
    """The agent's line, as far as it is spoken into here."""

    def send(self, *messages: bytes) -> None: ...


class Agent:
    """One machine of kind `yeaft`."""

    def __init__(
        self,
        core: Core,
        machine: Machine,
        username: str,
        saving: Serial,
        slash_commands: SlashCommands | None = None,
    ) -> None:
        self.machine = machine
        self.slash_commands = slash_commands
        """What it last said that can be typed there; it may not say so again on its next line."""
        bounds = _bounds(core.tuning)
        owner = Owner(machine.user_id, username)
        waiting = Pending(bounds.questions_max, int(bounds.question_timeout_s * 1000))
        self.talk = AgentTalk(AgentState(machine.id, owner, waiting), machine.core, bounds)
        self._core = core
        self._now = core.now
        self._saving = saving
        self._line: Sender | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = 0.0
        self._runner = Runner(core.machines, core.log, core.clock, machine, self.talk.out, self._do)

    def line_up(self, line: Sender, work_dir: str) -> None:
        """The core knows of it already."""
        self._line = line
        self.talk.line_up(work_dir)

    def line_down(self, line: Sender) -> None:
        """Not that of another line which has taken over."""
        if self._line is line:
            self._line = None
            self.talk.line_down()

    def synced(self) -> None:
        """The agent has said what it had to say first."""
        self.talk.synced(self._now())
        self._runner.run()

    def listed(self, conversations: dict[str, bool]) -> None:
        self.talk.listed(conversations)
        self._runner.run()

    def heard(self, session_id: str, envelope: Envelope, text: str) -> None:
        """A message of one of its sessions."""
        now_s, ts, log = self._now(), self._core.clock(), self.machine.logs[session_id]
        lines = self.talk.heard(session_id, envelope, text, now_s, ts)
        self._core.metrics.events_received += len(lines)
        for line in lines:
            self._core.machines.write(self.machine, log, line)
        self._runner.run()

    def note_commands(self, text: str) -> None:
        """What can be typed there, for clients that come later."""
        said = slash_commands_of(
            codec.read(text, SlashCommandsUpdate),
            count_max=_COMMANDS_MAX,
            chars_max=limits.NAME_CHARS_MAX,
        )
        if said != self.slash_commands:
            self.slash_commands = said
            told = update(_machines).where(_machines.c.id == self.machine.id)
            work = self._core.store.run(told.values(slash_commands=msgspec.to_builtins(said)))
            self._saving.add(work, "yeaft slash commands")

    def deliver(self, command: Command) -> None:
        self.talk.deliver(command, self._now())
        self._runner.run()

    def tick(self) -> None:
        """Once a second, and when the talk asks for it."""
        is_stalled = self._core.log.stalled is not None
        self.talk.tick(self._now(), self._core.clock(), is_stalled=is_stalled)
        self._runner.run()

    def _do(self, action: Action) -> None:
        match action:
            case actions.Send() if self._line is not None:
                self._line.send(action.message)
            case actions.Wake():
                self._wake(action.at_s)
            case actions.Fetch():
                self._core.tasks.spawn(self._fetch(action, self._line), "yeaft conversation")
            case actions.Remember():
                work = self._core.session_records.update(action.session_id, remote=action.remote)
                self._saving.add(work, "yeaft conversation record")

    def _wake(self, at_s: float) -> None:
        """One timer for all that is waited for: most of it happens long before its time."""
        if self._timer is not None:
            if self._timer_s <= at_s:
                return
            self._timer.cancel()
        loop, self._timer_s = asyncio.get_running_loop(), at_s
        self._timer = loop.call_later(max(0.0, at_s - self._now()), self._woken)

    def _woken(self) -> None:
        self._timer = None
        due_s = self.talk.due_s()
        if due_s is not None and due_s <= self._now():
            self.tick()
            due_s = self.talk.due_s()
        if due_s is not None:
            self._wake(due_s)

    async def _fetch(self, wanted: actions.Fetch, line: Sender | None) -> None:
        """Tried again while the line is the same: the next one asks anew."""
        while self._line is line:
            try:
                start = await self._core.starting.build(wanted.session_id)
                break
            except Exception:
                _log.exception("a conversation cannot be started yet", session=wanted.session_id)
                await asyncio.sleep(self._core.tuning.retry_s)
        else:
            return
        self.talk.fetched(wanted.session_id, wanted.number, start, self._now())
        self._runner.run()


def _bounds(tuning: Tuning) -> Bounds:
    return Bounds(
        answer_chars_max=1_000_000,  # of a turn's text, for its end; the log has all of it
        tools_max=1_000,  # calls of one turn whose names are remembered
        persons_max=limits.GROUP_PERSONS_MAX,
        questions_max=1_000,  # of one agent, that wait for a person
        question_chars_max=limits.YEAFT_QUESTION_CHARS_MAX,
        question_timeout_s=limits.CONFIRM_TIMEOUT_S,
        name_chars_max=limits.NAME_CHARS_MAX,
        path_chars_max=limits.FILE_PATH_CHARS_MAX,
        forwards_max=limits.YEAFT_FORWARDS_MAX,
        forwards_chars_max=limits.YEAFT_FORWARDS_CHARS_MAX,
        start_timeout_s=tuning.start_timeout_s,
        resume_wait_s=_RESUME_WAIT_S,
        cancel_grace_s=tuning.cancel_grace_s,
        quiet_s=_QUIET_S,
        silence_s=_SILENCE_S,
        busy_silence_s=_BUSY_SILENCE_S,
    )
