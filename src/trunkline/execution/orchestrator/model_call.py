"""One model call of a turn: the stream as events, the reply as a message, a refusal as a lesson."""

import uuid
from collections.abc import Sequence
from contextlib import aclosing

from trunkline.execution.errors import ModelError
from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Call, Message, Reply, Text, Thinking, ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.history import call_ids
from trunkline.execution.orchestrator.room import Room
from trunkline.execution.orchestrator.state import State

NO_ANSWER = "The model gave no answer."

_CUT_OFF = {
    "length": "The model's answer ends here because it reached its limit of length (max_tokens).",
    "content_filter": "The model's answer was cut off by its provider's content filter.",
    "model_context_window_exceeded": "The model's answer ends here because its context is full.",
}


async def call_model(context: Context, state: State, place: Room) -> Reply | None:
    """Asks the model. None: it refused a conversation that is too long for it, and what that taught
    is known now. Raises ModelError."""
    settings, messages = context.settings, state["messages"]
    call = Call(
        model=context.model,
        system=place.system,
        messages=messages,
        tools=place.tools,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens and min(settings.max_tokens, place.answer),
        thinking_tokens=settings.thinking_tokens,
        window=place.window,
        first_byte_timeout_s=settings.first_byte_timeout_seconds,
        silence_timeout_s=settings.silence_timeout_seconds,
        tell=lambda told: context.emit("thinking", stage="model", content=told),
        used=context.turn.spend,
    )
    size = tokens.of_text(call.system) + tokens.of_tools(call.tools) + tokens.of_messages(messages)
    try:
        reply = await _stream(context, state, call)
    except ModelError as error:
        if error.code != "MODEL_CONTEXT_FULL" or context.partial:
            raise
        _learn(context, error, size, place)
        return None
    if not context.router.is_plain(context.model):
        context.meter.saw(size, reply.usage)
    return reply


def _learn(context: Context, error: ModelError, size: float, place: Room) -> None:
    """The window, as the refusal says it or as it must be; or that texts take more than thought."""
    window, sent = error.limit
    thought = context.meter.measured(size)
    if not window and thought + place.answer < place.window:
        window = thought
    if window:
        context.router.learn(error.model or context.model, window)
    if thought < (window or place.window):
        context.meter.refused(size, max(sent, thought))


async def _stream(context: Context, state: State, call: Call) -> Reply:
    context.partial.clear()
    context.partial_of = state["model_calls"] + 1
    # A turn that is cancelled between two pieces has to close the stream as well.
    async with aclosing(context.router.stream(call)) as stream:
        async for piece in stream:
            match piece:
                case Text(text=text):
                    context.partial.append(text)
                    context.emit("text_chunk", content=text)
                case Thinking(text=text, stage=stage):
                    context.emit("thinking", content=text, stage=stage)
                case Reply():
                    if how := _CUT_OFF.get(piece.stop_reason):
                        context.emit("thinking", content=how, stage="model")
                    return piece
            await context.outlet.flush()
    raise ModelError("MODEL_ERROR", "the model's answer ended too early")


def message_of(reply: Reply, messages: Sequence[Message], taken: set[str]) -> Message:
    """The reply as the conversation keeps it. Ids of tool calls are made unique, there and among
    those `taken` by the turn's other agents: some models count from one in every answer."""
    message = Message(role="assistant", content=reply.text)
    if reply.tool_calls:
        taken |= call_ids(messages)
        message["tool_calls"] = _unique(reply.tool_calls, taken)
    elif not reply.text.strip():
        message["content"] = NO_ANSWER
    if reply.provider_blocks:
        message["provider_blocks"] = reply.provider_blocks
    return message


def _unique(calls: Sequence[ToolCall], taken: set[str]) -> list[ToolCall]:
    unique: list[ToolCall] = []
    for call in calls:
        call_id = call["id"]
        if not call_id or call_id in taken:
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        taken.add(call_id)
        unique.append(ToolCall(id=call_id, name=call["name"], arguments=call["arguments"]))
    return unique
