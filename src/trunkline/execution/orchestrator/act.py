"""One tool call: shown, run, bounded, audited. Calls of one step run side by side, each as a task
of the graph, so that what has finished is in the checkpoint even when the rest never does."""

import asyncio
from functools import partial

import structlog
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from trunkline import limits
from trunkline.execution.errors import ModelError, ToolError, TurnError
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.clipping import clipped, readable
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.history import cut
from trunkline.execution.orchestrator.state import Json, Step
from trunkline.execution.orchestrator.sub_agents import ask_agent
from trunkline.execution.tools.base import ToolResult
from trunkline.execution.tools.delegate import DelegatingRun

_log = structlog.get_logger(__name__)


async def act(state: Step, runtime: Runtime[Context]) -> Json:
    """Does what one call asks for. A failure is a result that the model reads."""
    context, call = runtime.context, state["call"]
    shown = Shown(context, call)
    shown.start()
    try:
        result = await _result(context, state, shown)
    except asyncio.CancelledError:
        shown.cancelled()
        raise
    content = cut(readable(result.content), limits.MESSAGE_RESULT_CHARS_MAX)
    shown.complete(ToolResult(content=content, is_error=result.is_error, details=result.details))
    message = Message(role="tool", content=content, tool_call_id=call["id"])
    if result.is_error:
        message["is_error"] = True
    return {"messages": [message]}


class Shown:
    """A tool call as readers and the audit log see it."""

    def __init__(self, context: Context, call: ToolCall) -> None:
        self._context = context
        self._call = call
        self._began = context.clock()
        self._about = {"tool_name": call["name"], "tool_call_id": call["id"]}

    def start(self) -> None:
        if self._call["id"] in self._context.turn.shown:
            return
        self.remember()
        given = clipped(self._call["arguments"])
        self._context.emit({"type": "tool_call_start", **self._about, "tool_input": given})

    def remember(self) -> None:
        """Its start was seen: it is owed an end."""
        self._context.turn.shown[self._call["id"]] = self.cancelled

    def progress(self, text: str) -> None:
        self._context.emit({"type": "tool_call_progress", **self._about, "content": text})

    def event(self, event: Json) -> None:
        self._context.emit({**event, "tool_call_id": self._call["id"]})

    def cancelled(self) -> None:
        self.complete(ToolResult(content="cancelled", is_error=True))

    def complete(self, result: ToolResult) -> None:
        context = self._context
        if context.turn.shown.pop(self._call["id"], None) is None:
            return  # a step that would not end, after its turn
        told: Json = {
            "type": "tool_call_complete",
            **self._about,
            "tool_input": clipped(self._call["arguments"]),
            "result": result.content,
            "is_error": result.is_error,
        }
        if result.details:
            told["details"] = clipped(result.details)
        context.emit(told)
        details = {
            **self._about,
            "turn_id": context.turn.turn_id,
            "tool_input": clipped(self._call["arguments"], limits.AUDIT_VALUE_CHARS_MAX),
            "result": cut(result.content, limits.AUDIT_VALUE_CHARS_MAX),
            "is_error": result.is_error,
            "duration_ms": int((context.clock() - self._began) * 1000),
        }
        if context.agent:
            details["agent"] = context.agent
        context.control.fire_and_forget("audit_log", event="tool_executed", details=details)


async def _result(context: Context, step: Step, shown: Shown) -> ToolResult:
    verdict, call = step["verdict"], step["call"]
    if "refused" in verdict:
        return ToolResult(content=verdict["refused"], is_error=True)
    if "answer" in verdict:
        return ToolResult(content=verdict["answer"])
    tool = context.tool(call["name"])
    if tool is None:
        return ToolResult(content=f"the tool {call['name']!r} is gone", is_error=True)
    run = DelegatingRun(
        session_id=context.session_id,
        tool_call_id=call["id"],
        workspace=context.workspace,
        progress=shown.progress,
        event=shown.event,
        ask_agent=partial(ask_agent, context, call),
    )
    try:
        return await tool.run(call["arguments"], run)
    except (ToolError, ModelError, TurnError) as error:
        return ToolResult(content=str(error), is_error=True)
    except GraphBubbleUp:
        raise  # a sub-agent waits for a person
    except Exception as error:
        _log.exception("tool failed", session_id=context.session_id, tool=call["name"])
        return ToolResult(
            content=f"the tool failed: {type(error).__name__}: {error}", is_error=True
        )
