"""The steps of a turn. `act` has a file of its own, because it is most of the work.

Each node gets the state and the run's context and returns what it changes. Only `graph` wires
them; nothing else calls them.
"""

import asyncio
from collections.abc import Sequence

import structlog
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, interrupt

from trunkline import limits
from trunkline.execution.errors import RequestFailed, TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message
from trunkline.execution.memory.edits import LAST_ACTION
from trunkline.execution.orchestrator import prompt
from trunkline.execution.orchestrator.approvals import review, verdicts_of
from trunkline.execution.orchestrator.attached import received
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.edges import to_tools
from trunkline.execution.orchestrator.history import newest_results, turn_results, unanswered
from trunkline.execution.orchestrator.loops import counted, end_if_stuck
from trunkline.execution.orchestrator.model_call import call_model, message_of
from trunkline.execution.orchestrator.notes import QUESTION, candidate, note_said, noted
from trunkline.execution.orchestrator.order import order
from trunkline.execution.orchestrator.room import room
from trunkline.execution.orchestrator.state import State
from trunkline.execution.orchestrator.summary import compacted, tell_compacted
from trunkline.execution.tools.memory import memories

_log = structlog.get_logger(__name__)

MEMORY_WAIT_S = 2.0  # for long-term memories, before a turn goes on without
# What fits much less well than the best is not told unasked. On the table in bench/memories this
# keeps 89 % (Chinese: all) of what is meant, and leaves out 48 % (12 %) of what is not; no score
# would do that by itself, as it depends on the language and on the model of embeddings.
SHARE_OF_BEST = 0.6


async def start(state: State, runtime: Runtime[Context]) -> Json:
    """Looks for older memories, gives tools that still start a moment, and notes beside the
    question what the model has to know with it."""
    context = runtime.context
    *earlier, question = state["messages"]
    asked = question["content"]
    await note_said(context, "user", asked, QUESTION)
    recalled, _ = await asyncio.gather(recall(context, asked), context.toolbox.settle())
    if problems := context.new_problems():
        context.emit("session_status", problems=problems)
    edited = await edits_of(context, state["messages"])
    parts = [prompt.day(context.clock(), earlier), prompt.remembered(recalled), *edited]
    if not context.depth:
        parts += [context.instructions.news(), context.toolbox.news()]
    changes: Json = {"memories": recalled}
    if told := prompt.note(parts):
        changes["messages"] = Overwrite([*earlier, {**question, "note": told}])
    return changes


async def edits_of(context: Context, messages: Sequence[Message]) -> list[str]:
    """What a person has changed in the session's memory files since its last turn."""
    if context.depth:
        return []
    try:
        return await context.edits.news({one["content"] for one in messages})
    except OSError as error:
        _log.warning("memory not read", session_id=context.session_id, reason=str(error))
        return []


async def recall(context: Context, question: str) -> list[str]:
    """Long-term memories; none while the control plane is away, slow or of another opinion."""
    query = question[: limits.MEMORY_QUERY_CHARS_MAX].strip()
    if not query:
        return []
    try:
        async with asyncio.timeout(MEMORY_WAIT_S):
            most = limits.MEMORY_TOP_K_DEFAULT
            found = await memories(context.control, query, most, SHARE_OF_BEST)
    except (ConnectionError, TimeoutError, RequestFailed) as error:
        _log.warning("no long-term memory", session_id=context.session_id, reason=str(error))
        return []
    return [one[: limits.MEMORY_QUERY_CHARS_MAX] for one in found]


async def listen(state: State, runtime: Runtime[Context]) -> Json:
    """What people have said since the turn began; behind every call's result, before the model is
    asked again."""
    context = runtime.context
    messages: list[Message] = []
    for said in context.steering.take(context.turn_id):
        message = await received(context, said.text, said.attachments)
        await note_said(context, "user", message["content"], said.message_id)
        messages.append({**message, "steers": said.message_id})
    return {"messages": messages}


async def plan(state: State, runtime: Runtime[Context]) -> Json:
    """Asks the model what to say and do, and reviews what it wants done."""
    context = runtime.context
    if state["model_calls"] >= (most := context.settings.max_turns):
        raise TurnError("TURN_LIMIT", f"The turn was ended after {most} model calls (max_turns).")
    if context.reserve is not None:
        context.reserve.hold()  # what the model says could not be kept
    place, said = await room(context, state["messages"])
    if said > place.free:
        return {"squeeze": place.free}
    reply = await call_model(context, state, place)
    if reply is None:
        place, said = await room(context, state["messages"])
        return {"squeeze": min(place.free, said * 7 // 10)}
    context.acknowledge()
    message = message_of(reply, state["messages"], context.turn.taken)
    await note_said(context, "assistant", message["content"], context.partial_of)
    calls = message.get("tool_calls", [])
    verdicts, questions = review(context, calls, state.get("outside", []))
    return {
        "messages": [message],
        "model_calls": state["model_calls"] + 1,
        "verdicts": verdicts,
        "questions": questions,
        "waits": order(context, calls, verdicts),
    }


async def compact(state: State, runtime: Runtime[Context]) -> Json:
    """Makes room for the next call. A step of its own: what it did is saved before that call."""
    context, messages = runtime.context, state["messages"]
    place, said = await room(context, messages)
    why = "The conversation is getting long for the model: making room."
    context.emit("thinking", stage="model", content=why)
    done = await compacted(context, messages, place, state["squeeze"])
    tell_compacted(context, place, said, done)
    return {"messages": Overwrite(done.messages), "squeeze": 0}


async def approve(state: State, runtime: Runtime[Context]) -> Json:
    """Waits for people: the graph stops here when the calls beside it are done, and goes on with
    the answers, be it after a restart. People need not wait for those calls. On the way back this
    node runs again from its start."""
    if _has_company(state, runtime.context):
        await runtime.context.turn.ask(state["questions"])
    answers = interrupt(state["questions"])
    verdicts = verdicts_of(runtime.context, state["questions"], answers)
    return {"verdicts": {**state["verdicts"], **verdicts}, "questions": []}


def _has_company(state: State, context: Context) -> bool:
    """Whether other calls run beside the questions, of this agent or of another."""
    above = {one["call"]["id"] for one in context.above}
    return len(to_tools(state)) > 1 or not above.issuperset(context.turn.shown)


async def observe(state: State, runtime: Runtime[Context]) -> Json:
    """Looks at the step's results, when all are there. The model reads them next and plans anew;
    a call that only ever fails in the same way comes to an end."""
    if unanswered(state["messages"]):
        return {}
    results = newest_results(state["messages"])
    ids = {one["tool_call_id"] for one in results}
    done = [pair for pair in turn_results(state["messages"]) if pair[0]["id"] in ids]
    repeats = counted(state.get("repeats", {}), done)
    end_if_stuck(repeats, done)
    failed = [one for one in results if one.get("is_error") and not one.get("denied")]
    if failed:
        how = f"{len(failed)} of {len(results)} tool calls failed; planning anew."
        runtime.context.emit("thinking", stage="replan", content=how)
    return {
        "failures": len(failed),
        "repeats": repeats,
        "tool_calls": state["tool_calls"] + len(results),
        "verdicts": {},
        "waits": {},
    }


async def reflect(state: State, runtime: Runtime[Context]) -> Json:
    """Notes what was done, for people and for later turns."""
    context = runtime.context
    if context.depth:
        return {}
    await context.watch.catch_up(is_running=context.toolbox.is_working)
    done = turn_results(state["messages"])
    action = {
        "turn_id": state["turn_id"],
        "tools": [call["name"] for call, _ in done],
        "failed": sum(1 for _, result in done if _outcome(result) == "failed"),
    }
    await noted(context, context.memory.save_context(LAST_ACTION, action))
    if done:
        lines = (f"- {call['name']}: {_outcome(result)}" for call, result in done)
        text = "# Last turn\n\n" + "\n".join(lines) + "\n"
        await noted(context, context.edits.write_block(text))
    await noted(context, context.edits.keep({one["content"] for one in state["messages"]}))
    if context.settings.evolution and (found := candidate(state["messages"])):
        context.control.fire_and_forget("evolution_submit", **found)
    return {}


async def respond(state: State) -> Json:
    """The last step: the newest message is the answer. `turns` tells it, when it is on disk."""
    return {}


def _outcome(result: Message) -> str:
    if result.get("denied"):
        return "not allowed"
    return "failed" if result.get("is_error") else "done"
