"""The turns of a session: one at a time, each with exactly one end.

The session's process submits messages, answers, cancels; this drives the graph and tells how
every turn ended, after its state is on disk. What a turn left half-way is made whole here.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt

from trunkline import limits
from trunkline.execution.approvals import Answer, Approvals
from trunkline.execution.attachments import Attachment
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.errors import ModelError, TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator import forked
from trunkline.execution.orchestrator.act import Shown
from trunkline.execution.orchestrator.beginning import Beginning, Job
from trunkline.execution.orchestrator.by_hand import compact_by_hand
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.graph import STEPS_MAX, create_agent_graph
from trunkline.execution.orchestrator.notes import QUESTION, note_said
from trunkline.execution.orchestrator.recovery import finish_half_done
from trunkline.execution.orchestrator.state import Question
from trunkline.execution.orchestrator.steering import Steer
from trunkline.execution.orchestrator.titling import Titling
from trunkline.execution.orchestrator.working import Work, Working
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

TURNS_QUEUED_MAX = 20  # messages that wait for the running turn
APPROVAL_AGAIN_S = 5.0  # at least, for a question that is asked again after a restart


class Turns:
    """One session's turns, in order."""

    def __init__(
        self,
        checkpointer: LocalCheckpointer,
        context: Context,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._graph = create_agent_graph(checkpointer)
        self._context = context
        self._approvals = Approvals(context, sleep, fence=context.fence)
        self._jobs: deque[Job] = deque()
        self._turn: asyncio.Task[None] | None = None
        self._is_under_way = False
        self._stopping: str | None = None
        """Why the running turn is being ended from outside."""
        self._is_closed = True
        self._config = RunnableConfig(
            configurable={"thread_id": context.session_id}, recursion_limit=STEPS_MAX
        )
        self._working = Working(
            self._graph, self._config, checkpointer, context, sleep=sleep, monotonic=monotonic
        )
        self._beginning = Beginning(self._graph, self._config, context, checkpointer)
        self._titling = Titling(context)

    async def fork(self, fork: ipc.Fork, folder: Path) -> None:
        """Before anything else, in a session that is a copy of another one."""
        await forked.begin(self._graph, self._config, fork, folder, self._context.memory)

    async def recover(self, open_turn: str | None) -> None:
        """Takes up what the last process left. A turn that waits for a person and is still open
        goes on waiting; any other is over, and the next message follows on its last step."""
        state = await self._graph.aget_state(self._config)
        self._beginning.is_new = not state.values.get("messages")
        self._context.steering.remember(state.values.get("messages", []))
        if open_turn and state.next and state.values.get("turn_id") == open_turn:
            job = Job(turn_id=open_turn, interrupts=state.interrupts, is_taken_up=True)
            asked = [one["request_id"] for one in _questions(state.interrupts)]
            asked += self._context.begun.asked()
            if asked:
                self._jobs.append(job)
                self._approvals.expect([{"request_id": one} for one in asked])
                return
        if state.next:
            await finish_half_done(self._graph, self._config)
        if open_turn:
            self._context.begin(open_turn)
            self._end_with_error("SESSION_CRASHED", "The session ended in the middle of this turn.")

    def start(self) -> None:
        self._is_closed = False
        self._run_next()

    def submit(
        self,
        turn_id: str,
        message: str,
        history: list[Json],
        attachments: Sequence[Attachment] = (),
    ) -> None:
        """A message of a person; it waits while a turn runs."""
        if len(self._jobs) >= TURNS_QUEUED_MAX:
            self._refuse(turn_id, "TURN_QUEUE_FULL", "Too many messages wait for this session.")
            return
        attached = list(attachments)
        self._jobs.append(
            Job(turn_id=turn_id, message=message, history=history, attachments=attached)
        )
        self._run_next()

    def steer(
        self, turn_id: str, message_id: str, message: str, attachments: Sequence[Attachment] = ()
    ) -> None:
        """A message to a turn that runs or waits to; for any other nothing happens."""
        context, waiting = self._context, [job.turn_id for job in self._jobs]
        if turn_id not in (*waiting, context.turn_id if self._turn is not None else None):
            return
        if not context.steering.add(turn_id, Steer(message_id, message, list(attachments))):
            context.emit("steer_taken", message_id=message_id)

    def compact(self) -> None:
        """Behind the turn that runs and those that wait; once is enough."""
        if all(job.turn_id for job in self._jobs):
            self._jobs.append(Job(turn_id=""))
            self._run_next()

    def answer(self, data: Json) -> None:
        self._approvals.answer(data)

    def cancel(self) -> None:
        """Ends the running turn; when none runs, or it is ending already, nothing happens."""
        self._interrupt("cancelled")

    async def stop(self) -> None:
        """Before the process ends: a turn that waits for a person stays open for the next one,
        any other ends."""
        self._is_closed = True
        self._context.turn.is_paused = self._approvals.waiting
        self._interrupt("waiting" if self._approvals.waiting else "stopped")
        await self._titling.end()
        if self._turn is not None:
            await asyncio.wait({self._turn})
        while self._jobs:
            if (job := self._jobs.popleft()).turn_id:
                self._refuse(job.turn_id, "SESSION_STOPPED", "The session was stopped.")

    async def kill(self) -> None:
        """Ends everything at once and tells nobody."""
        self._is_closed = True
        self._context.turn.is_paused = True
        await self._titling.end()
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.wait({self._turn}, timeout=limits.CANCEL_GRACE_S)

    def _run_next(self) -> None:
        if self._turn is not None or self._is_closed or not self._jobs:
            return
        self._is_under_way, self._stopping = False, None
        self._turn = asyncio.create_task(self._run(self._jobs.popleft()))
        self._turn.add_done_callback(self._over)

    def _over(self, turn: asyncio.Task[None]) -> None:
        self._context.steering.has_ended(self._context.turn_id)
        self._approvals.withdraw(None)
        if not turn.cancelled() and (error := turn.exception()):
            _log.error("turn without an end", session_id=self._context.session_id, exc_info=error)
        self._turn = None
        self._run_next()

    def _interrupt(self, why: str) -> None:
        if self._turn is None or self._stopping is not None:
            return
        self._stopping = why
        if self._is_under_way:  # a task that is cancelled before it runs never says anything
            self._turn.cancel()

    async def _run(self, job: Job) -> None:
        context = self._context
        context.begin(job.turn_id, self._show)
        if not job.turn_id:
            self._is_under_way = self._stopping is None
            if self._is_under_way:
                await compact_by_hand(self._graph, self._config, context)
            return
        if not job.is_taken_up:
            context.begun.begin_turn()
        self._is_under_way = True
        try:
            if self._stopping is not None:
                raise asyncio.CancelledError
            answer = await self._drive(job)
        except asyncio.CancelledError:
            await self._end_from_outside(job)
        except Exception as error:
            if not isinstance(error, TurnError | ModelError):
                _log.exception("turn failed", session_id=context.session_id)
            await self._settle(job)
            self._end_with_error(*_told(error))
        else:
            is_first, self._beginning.is_new = self._beginning.is_new, False
            self._tell_usage()
            context.emit("execution_complete", content=answer)
            if is_first:
                self._titling.begin(job.message, answer)

    async def _drive(self, job: Job) -> str:
        """The graph, again and again until nobody has to be asked."""
        again_s = 0.0
        work: Work
        if job.is_taken_up:
            await self._take_up(job.interrupts)
            again_s = APPROVAL_AGAIN_S
            work = None  # what waits for a person asks again
        else:
            work = await self._beginning.of(job)
        while True:
            output = await self._working.run(work)
            if not output.interrupts:
                return output.value["messages"][-1]["content"]
            await self._working.keep_usage()
            work = Command(resume=await self._ask(output.interrupts, again_s))
            again_s = 0.0

    async def _show(self, questions: Sequence[Question]) -> None:
        """While calls beside them still run; `_ask` waits for the answers. Called again when those
        are there."""
        asked = self._context.turn.asked
        if new := [one for one in questions if one["request_id"] not in asked]:
            await self._working.keep_usage()
            for one in new:
                asked.add(one["request_id"])
                self._context.begun.ask(one["request_id"])
            self._approvals.show(new)

    async def _take_up(self, interrupts: Sequence[Interrupt]) -> None:
        """A turn of the last process. Sub-agents' tasks that wait for a person have started
        there: that was shown."""
        await self._working.take_up_usage()
        self._context.begun.take_up()
        for question in _questions(interrupts):
            for above in question.get("above", []):
                Shown(replace(self._context, agent=above["agent"]), above["call"]).remember()

    async def _ask(
        self, interrupts: Sequence[Interrupt], least_s: float = 0.0
    ) -> dict[str, dict[str, Answer]]:
        """Every question of every interrupt; each interrupt gets its own answers back."""
        answers = await self._approvals.ask(_questions(interrupts), least_s)
        return {
            stop.id: {one["request_id"]: answers[one["request_id"]] for one in stop.value}
            for stop in interrupts
        }

    async def _end_from_outside(self, job: Job) -> None:
        if self._stopping == "cancelled":
            self._approvals.withdraw("cancelled")
            await self._settle(job)
            self._context.emit("execution_complete", content="", cancelled=True)
        elif self._stopping == "stopped":
            await self._settle(job)
            self._end_with_error("SESSION_STOPPED", "The session was stopped in this turn.")
        else:
            raise asyncio.CancelledError

    async def _settle(self, job: Job) -> None:
        """Keeps what was said and done so far, and tells what that took. Whatever goes wrong here,
        the turn has an end."""
        self._is_under_way = False  # it is ending: a cancel that comes now changes nothing
        context = self._context
        said = "".join(context.partial)
        for cancelled in [*context.turn.shown.values()]:
            cancelled()
        try:
            if not job.is_taken_up:
                await note_said(context, "user", job.message, QUESTION)
            await note_said(context, "assistant", said, context.partial_of)
            messages = await finish_half_done(
                self._graph,
                self._config,
                asked=None if job.is_taken_up else self._beginning.asked(job),
                partial=said,
                partial_of=context.partial_of,
            )
            self._beginning.is_new = False
            context.steering.keep(messages)
            context.acknowledge()
        except Exception:
            self._beginning.is_unsaved = True
            _log.exception("turn not saved", session_id=self._context.session_id)
        self._tell_usage()

    def _tell_usage(self) -> None:
        """What the turn took, before its end, whichever that is."""
        self._context.turn.is_over = True
        self._context.emit("usage", **self._context.turn.totals(self._context.prices))

    def _refuse(self, turn_id: str, code: str, message: str) -> None:
        """Ends a turn that never ran, beside the one that runs."""
        end = {"type": "execution_error", "code": code, "error": message, "turn_id": turn_id}
        self._context.outlet.event({**end, "ts": int(self._context.clock() * 1000)})

    def _end_with_error(self, code: str, message: str) -> None:
        self._context.emit("execution_error", code=code, error=message)


def _questions(interrupts: Sequence[Interrupt]) -> list[Question]:
    return [one for stop in interrupts for one in stop.value]


def _told(error: Exception) -> tuple[str, str]:
    """Its code and words; those for what nobody foresaw."""
    if isinstance(error, TurnError | ModelError):
        return error.code, error.message
    if isinstance(error, MemoryError):
        return "SESSION_OUT_OF_MEMORY", "The session ran out of memory. Say it again."
    return "TURN_FAILED", f"Unexpected: {type(error).__name__}: {error}"
