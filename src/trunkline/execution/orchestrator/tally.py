"""What a turn has taken so far, kept where it waits for a person, for the process that goes on.

Called by `turns`. It lies beside the checkpoint at which the graph stopped, as a write of a task
that the graph has not got: LangGraph passes over those. A change of the state would be another
checkpoint, and at that one nobody is asked.
"""

import uuid
from typing import Annotated

import msgspec
import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from msgspec import Meta

_log = structlog.get_logger(__name__)

_CHANNEL = "tally"

Count = Annotated[int, Meta(ge=0)]


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Of all agents of the turn. Everything here only grows."""

    worked_s: Annotated[float, Meta(ge=0)] = 0.0
    """Without waiting for people."""
    usage: dict[str, dict[str, Count]] = {}
    """By model."""
    call_ids: list[str] = []
    """Ids of tool calls that are taken."""

    @property
    def model_calls(self) -> int:
        return sum(of_model.get("calls", 0) for of_model in self.usage.values())


class Tallies:
    """Those of one session's turns."""

    def __init__(self, checkpointer: BaseCheckpointSaver[str], config: RunnableConfig) -> None:
        self._checkpointer = checkpointer
        self._config = config

    async def keep(self, tally: Tally) -> None:
        """Call it when the graph has stopped, before anybody is asked."""
        stopped = await self._checkpointer.aget_tuple(self._config)
        if stopped is None:
            raise RuntimeError("the graph waits for a person and has no checkpoint")
        # A task's first write stays; while sub-agents ask again and again, there are several.
        writes = [(_CHANNEL, msgspec.to_builtins(tally))]
        await self._checkpointer.aput_writes(stopped.config, writes, uuid.uuid4().hex)

    async def newest(self) -> Tally:
        """Of the turn that waits. One that cannot be read, as a snapshot may bring it, is passed
        over."""
        stopped = await self._checkpointer.aget_tuple(self._config)
        found = [Tally()]
        for _, channel, value in (stopped and stopped.pending_writes) or []:
            if channel != _CHANNEL:
                continue
            try:
                found.append(msgspec.convert(value, Tally))
            except msgspec.ValidationError as error:
                _log.warning("tally not understood", reason=str(error))
        return max(found, key=lambda one: (one.model_calls, one.worked_s))
