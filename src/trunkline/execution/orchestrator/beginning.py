"""With what a turn begins: what was said, behind a conversation that is whole.

Called by `turns`, before the graph runs, and when a turn ended before its question was saved.
"""

from collections.abc import Sequence

import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, Overwrite

from trunkline.execution.attachments import Attachment
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message, Picture
from trunkline.execution.orchestrator.attached import received
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.history import from_wire
from trunkline.execution.orchestrator.rebuild import Rebuild
from trunkline.execution.orchestrator.state import State, new_turn


class Job(msgspec.Struct, kw_only=True):
    """A turn to run: a message, or questions that were open when the last process ended. One
    without an id shortens the conversation."""

    turn_id: str
    message: str = ""
    history: list[Json] = []
    attachments: list[Attachment] = []
    """That have not been taken out of it yet."""
    pictures: list[Picture] = []
    interrupts: Sequence[Interrupt] = ()
    is_taken_up: bool = False


class Beginning:
    """Of the turns of one session."""

    def __init__(
        self,
        graph: AgentGraph,
        config: RunnableConfig,
        context: Context,
        checkpointer: LocalCheckpointer,
    ) -> None:
        self._graph = graph
        self._config = config
        self._context = context
        self._checkpointer = checkpointer
        self._rebuild = Rebuild(context)
        self.is_new = True
        """Nothing was said in this session before."""
        self.is_unsaved = False
        """The last turn could not be saved."""

    async def of(self, job: Job) -> State:
        """Raises TurnError where what comes of it could not be kept."""
        self._checkpointer.reserve.hold()
        await self._receive(job)
        return await self._without_repeats(await self._made_whole(job))

    async def _receive(self, job: Job) -> None:
        """Takes out what came with the words."""
        said = await received(self._context, job.message, job.attachments)
        job.message, job.attachments = said["content"], []
        job.pictures = said.get("pictures", [])

    async def _made_whole(self, job: Job) -> State:
        """What the turn begins with, after what the session has lost is there again."""
        state = await self._graph.aget_state(self._config)
        is_damaged = self._checkpointer.is_damaged or self.is_unsaved
        found = await self._rebuild.lost(state.values, job.history, job.turn_id, is_damaged)
        self._checkpointer.is_damaged = self.is_unsaved = False
        if found and self.is_new:
            return new_turn(job.turn_id, [*found, *self.asked(job)["messages"][-1:]])
        if found:
            changes = {"messages": Overwrite(found)}
            await self._graph.aupdate_state(self._config, changes, as_node="respond")
        return self.asked(job)

    def asked(self, job: Job) -> State:
        history = from_wire(job.history) if self.is_new else []
        said = Message(role="user", content=job.message, turn_id=job.turn_id)
        if job.pictures:
            said["pictures"] = job.pictures
        return new_turn(job.turn_id, [*history, said])

    async def _without_repeats(self, work: State) -> State:
        """What was said to a turn that a crash ended becomes a turn of its own: where the
        conversation has it already, it is moved to its end."""
        if not self._context.steering.is_known(work["turn_id"]):
            return work
        before = (await self._graph.aget_state(self._config)).values.get("messages", [])
        kept = [one for one in before if one.get("steers") != work["turn_id"]]
        return {**work, "messages": Overwrite([*kept, *work["messages"]])}  # type: ignore[typeddict-item]
