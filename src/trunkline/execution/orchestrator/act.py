"""One tool call: shown, run, bounded, audited; a sub-agent's task too.

Each call of a step is a task of the graph, so that what has finished is in the checkpoint even when
the rest never does. A sub-agent runs the same graph, with its own prompt,
model and tools, inside the call that asked for it: what it waits for, the turn waits for. The
turn's limits on time hold for it; those on calls it has for itself.
"""

import asyncio
from functools import partial
from typing import Any

import msgspec
import structlog
from langgraph import func
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from trunkline import limits
from trunkline.execution.errors import ModelError, RequestFailed, ToolError, TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.attached import RESULT_IMAGES_MAX, kept_pictures
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.loops import hint
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.orchestrator.state import Step, new_turn
from trunkline.execution.texts import both_ends, clipped, readable
from trunkline.execution.tools.asking import Delegate
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun

_log = structlog.get_logger(__name__)

MESSAGE_RESULT_CHARS_MAX = 110_000  # of one tool's result, whichever tool it was
LOST = "not finished: the session was restarted while this ran, and it is not run again by itself"


async def act(state: Step, runtime: Runtime[Context]) -> Json:
    """Does what one call asks for, when those it depends on are over. A failure is a result that
    the model reads."""
    context, call = runtime.context, state["call"]
    if context.begun.is_of_last_process(call["id"]):
        return _lost(context, call)
    for one in state.get("waits", ()):
        if not context.begun.is_of_last_process(one):
            await context.turn.over[one].wait()
    shown = Shown(context, call)
    if context.begun.is_task_of_last_process(call["id"]):
        shown.remember()
    context.begun.add(call["id"], is_task=call["name"] == Delegate.name)
    shown.start()
    try:
        result = await _result(context, state, shown)
    except asyncio.CancelledError:
        if not context.turn.is_paused:  # the next process tells its end
            shown.cancelled()
        raise
    finally:
        context.turn.over[call["id"]].set()
    is_denied = state["verdict"].get("denied", False)
    message = _message(call, both_ends(readable(result.content), MESSAGE_RESULT_CHARS_MAX))
    if result.is_error:
        message["is_error"] = True
    if is_denied:
        message["denied"] = True
    message["content"] += hint(state.get("before"), message)
    pictures, problems = await kept_pictures(context, result.images[:RESULT_IMAGES_MAX])
    message["content"] = "\n".join([message["content"], *problems])
    if pictures:
        message["pictures"] = pictures
    shown.complete(msgspec.structs.replace(result, content=message["content"]), denied=is_denied)
    changes: Json = {"messages": [message], "outside": list(context.permits.outside)}
    if result.todos is not None:
        changes["todos"] = result.todos
    return changes


def _lost(context: Context, call: ToolCall) -> Json:
    """Of a call that the last process began and did not finish: it is not made twice."""
    context.turn.over[call["id"]].set()
    shown = Shown(context, call)
    shown.remember()
    shown.complete(ToolResult(content=LOST, is_error=True))
    message = _message(call, LOST)
    message["is_error"] = True
    return {"messages": [message]}


def _message(call: ToolCall, content: str) -> Message:
    return Message(role="tool", content=content, tool_call_id=call["id"])


class Shown:
    """A tool call as readers and the audit log see it."""

    def __init__(self, context: Context, call: ToolCall) -> None:
        self._context = context
        self._turn = context.turn
        self._call = call
        self._began = context.clock()
        self._about = {"tool_name": call["name"], "tool_call_id": call["id"]}

    def start(self) -> None:
        if self._call["id"] in self._context.turn.shown:
            return
        self.remember()
        given = clipped(self._call["arguments"])
        self._context.emit("tool_call_start", **self._about, tool_input=given)

    def remember(self) -> None:
        """Its start was seen, so its end will be."""
        self._context.turn.shown[self._call["id"]] = self.cancelled

    def progress(self, text: str) -> None:
        """What a tool that runs prints; of a command in the background, until the turn's end."""
        if self._turn.is_over:
            return
        self._context.emit("tool_call_progress", **self._about, content=text)

    def event(self, event: Json) -> None:
        fields = {**event, "tool_call_id": self._call["id"]}
        self._context.emit(fields.pop("type"), **fields)

    def cancelled(self) -> None:
        self.complete(ToolResult(content="cancelled", is_error=True))

    def complete(self, result: ToolResult, *, denied: bool = False) -> None:
        context = self._context
        if context.turn.shown.pop(self._call["id"], None) is None:
            return  # a step that would not end, after its turn
        told: Json = {
            **self._about,
            "tool_input": clipped(self._call["arguments"]),
            "result": result.content,
            "is_error": result.is_error and not denied,
        }
        if denied:
            told["denied"] = True
        if result.details:
            told["details"] = clipped(result.details)
        context.emit("tool_call_complete", **told)
        details = {
            **self._about,
            "turn_id": context.turn.turn_id,
            "tool_input": clipped(self._call["arguments"], limits.AUDIT_VALUE_CHARS_MAX),
            "result": both_ends(result.content, limits.AUDIT_VALUE_CHARS_MAX),
            "is_error": told["is_error"],
            "duration_ms": int((context.clock() - self._began) * 1000),
        }
        if context.agent:
            details["agent"] = context.agent
        event = "tool_refused" if denied else "tool_executed"  # by a rule, a mode or a person
        context.control.fire_and_forget("audit_log", event=event, details=details)


async def _result(context: Context, step: Step, shown: Shown) -> ToolResult:
    verdict, call = step["verdict"], step["call"]
    if "refused" in verdict:
        return ToolResult(content=verdict["refused"], is_error=True)
    if "answer" in verdict:
        return ToolResult(content=verdict["answer"])
    tool = context.tool(call["name"])
    if tool is None:
        return ToolResult(content=f"the tool {call['name']!r} is gone", is_error=True)
    run = ToolRun(
        session_id=context.session_id,
        workspace=context.workspace,
        progress=shown.progress,
        event=shown.event,
        ask_agent=partial(ask_agent, context, call),
        hides=partial(context.permits.hides, workspace=context.workspace),
        guards=partial(context.permits.guards_page, workspace=context.workspace),
        granted=verdict.get("granted", ""),
        command_timeout_s=context.settings.command_timeout_seconds,
        command_timeout_s_max=context.settings.command_timeout_seconds_max,
    )
    if tool.brings:
        context.permits.outside[call["name"]] = None
    try:
        result = await context.watch.run(tool, call["arguments"], run)
        return _with_instructions(context, tool, call["arguments"], result)
    except (ToolError, ModelError, TurnError) as error:
        return ToolResult(content=str(error), is_error=True)
    except GraphBubbleUp:
        raise  # a sub-agent waits for a person
    except Exception as error:
        _log.exception("tool failed", session_id=context.session_id, tool=call["name"])
        return ToolResult(
            content=f"the tool failed: {type(error).__name__}: {error}", is_error=True
        )


def _with_instructions(
    context: Context, tool: Tool, arguments: Json, result: ToolResult
) -> ToolResult:
    """With what the project says of the folders that this call begins to use."""
    paths = tool.paths(arguments)
    if paths is None:
        path = arguments.get("path")
        paths = [path] if isinstance(path, str) else []
    if not (told := context.instructions.below(paths)):
        return result
    return msgspec.structs.replace(result, content=f"{result.content}\n\n{told}")


class _Config(msgspec.Struct):
    config: dict[str, Any]


async def ask_agent(context: Context, call: ToolCall, agent_id: str, name: str, task: str) -> str:
    """The sub-agent's answer to the task of `call`. Raises ToolError when it cannot be asked."""
    found = await _settings(context, agent_id, name)
    own = [one for one in found.get("sub_agents", ()) if one != agent_id]  # never itself
    session = (context.root or context).delegate
    delegate = None if session is None else session.among(own)
    nested = context.sub_agent(name, msgspec.convert(found, Settings), call, delegate)
    asked = new_turn(context.turn.turn_id, [Message(role="user", content=task)])
    done = await context.run_nested(asked, nested)
    context.permits.outside.update(dict.fromkeys(done.get("outside", ())))
    return done["messages"][-1]["content"]


@func.task
async def _settings(context: Context, agent_id: str, name: str) -> Json:
    """The agent's own, as they are when it gets its task. The result is in the step's checkpoint:
    a tool call runs again from its start when a person has answered, and the line may be down by
    then. What else the agent's configuration has, its servers' secrets for one, does not come to
    the disk."""
    try:
        found = await context.control.request("get_config", agent_id=agent_id)
        config = msgspec.convert(found, _Config).config
    except (ConnectionError, TimeoutError) as error:
        raise ToolError(f"the agent {name!r} cannot be reached now: {error}") from error
    except (RequestFailed, msgspec.ValidationError) as error:
        raise ToolError(f"the agent {name!r} cannot be asked: {error}") from error
    limits_of_session = {
        "max_turns": context.settings.max_turns,
        "max_tool_calls": context.settings.max_tool_calls,
        "approval_timeout_seconds": context.settings.approval_timeout_seconds,
    }
    settings = Settings().changed(config)[0].changed(limits_of_session)[0]
    model, window = settings.model, settings.context_window
    if not model:
        model, window = context.settings.model, window or context.settings.context_window
    chosen = msgspec.structs.replace(settings, model=model, context_window=window)
    sub_agents = config.get("sub_agents")
    names = [one for one in sub_agents if isinstance(one, str)] if sub_agents else []
    return {**msgspec.structs.asdict(chosen), "sub_agents": names[: limits.NAMES_MAX]}
