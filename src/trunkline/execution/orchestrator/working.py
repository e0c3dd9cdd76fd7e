"""The time that a turn works: its graph runs within `timeout_seconds`, and what it has used is kept
for the process that goes on with it. Called by `turns`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, GraphOutput

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.recovery import SavedUsage, TurnUsage
from trunkline.execution.orchestrator.state import State

_log = structlog.get_logger(__name__)

Work = State | Command[Any] | None
"""What the graph is given; None: it goes on with what its checkpoint has."""


class Working:
    """Of one session's turns, one at a time."""

    def __init__(
        self,
        graph: AgentGraph,
        config: RunnableConfig,
        checkpointer: BaseCheckpointSaver[str],
        context: Context,
        *,
        sleep: Callable[[float], Awaitable[None]],
        monotonic: Callable[[], float],
    ) -> None:
        self._graph = graph
        self._config = config
        self._context = context
        self._sleep = sleep
        self._monotonic = monotonic
        self._saved_usage = SavedUsage(checkpointer, config)
        self._since: float | None = None

    async def run(self, work: Work) -> GraphOutput[State]:
        """Until it ends or somebody has to be asked. Only the time in here counts for
        `timeout_seconds`, that of earlier processes included: a person may take as long as a
        question stays open, and no restart gives a turn more time to work."""
        turn, allowed_s = self._context.turn, self._context.settings.timeout_seconds
        left_s = allowed_s - turn.worked_s
        if left_s <= 0:  # the setting was changed while the turn waited
            raise _too_long(allowed_s)
        self._since = began = self._monotonic()
        limit = asyncio.ensure_future(self._sleep(left_s))
        run = asyncio.ensure_future(
            self._graph.ainvoke(
                work, self._config, context=self._context, durability="async", version="v2"
            )
        )
        either: set[asyncio.Future[Any]] = {run, limit}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._abandon(run)
            raise
        finally:
            limit.cancel()
            self._since = None
            turn.worked_s += self._monotonic() - began
        if run.done():
            return await run
        await self._abandon(run)
        raise _too_long(allowed_s)

    async def keep_usage(self) -> None:
        """Before anybody is asked."""
        turn, since = self._context.turn, self._since
        worked_s = turn.worked_s + (0.0 if since is None else self._monotonic() - since)
        await self._saved_usage.keep(
            TurnUsage(worked_s=worked_s, usage=turn.usage, call_ids=sorted(turn.taken))
        )

    async def take_up_usage(self) -> None:
        """What the turn took in the last process."""
        before = await self._saved_usage.newest()
        turn = self._context.turn
        turn.worked_s = before.worked_s
        turn.usage.update(before.usage)
        turn.taken.update(before.call_ids)

    async def _abandon(self, run: "asyncio.Future[GraphOutput[State]]") -> None:
        """Streams and tools end when the run is cancelled; one that does not is left behind."""
        run.cancel()
        await asyncio.wait({run}, timeout=limits.CANCEL_GRACE_S)
        if not run.done():
            _log.error("a step does not end", session_id=self._context.session_id)
        elif not run.cancelled():
            run.exception()


def _too_long(allowed_s: float) -> TurnError:
    return TurnError("TURN_TIMEOUT", f"The turn was ended after {allowed_s:g} s (timeout_seconds).")
