"""A session whose own files have lost something is made whole from what the control plane has.

The log there holds every finished answer and tool result that a reader has seen. Asked when a
checkpoint cannot be read or could not be written, when there is none although much was said, and
when a message's `history` has an answer that nobody here remembers. Where the control plane does
not know the request or is away, that history is what there is.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

import msgspec
import structlog

from trunkline.execution.errors import NO_SUCH_METHOD, RequestFailed
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.from_log import Said, messages_of
from trunkline.execution.orchestrator.history import from_wire, newest_question
from trunkline.execution.orchestrator.notes import noted

_log = structlog.get_logger(__name__)

WAIT_S = 10.0
_BESIDE: tuple[Literal["summary", "note", "pictures"], ...] = ("summary", "note", "pictures")
"""What the log does not have of a person's message."""


class _Conversation(msgspec.Struct):
    messages: list[Said]


class Rebuild:
    """Of one session."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_known = True
        """Whether the control plane has the method, as far as is known."""

    async def lost(
        self, state: Mapping[str, Any], history: Sequence[Json], but: str, is_damaged: bool
    ) -> list[Message] | None:
        """The whole conversation if `state` lacks a part of it, which readers are told; None if
        not. `history` is that of the message whose turn, `but`, begins."""
        messages: list[Message] = state.get("messages", [])
        if not is_damaged and not is_unknown(messages, history):
            return None
        found = await self.whole(messages, state.get("turn_id", ""), history, but)
        if found is not None:
            self._context.permits.outside.update(dict.fromkeys(self._brought(found)))
            why = "A part of this session's memory was lost on its machine: it was rebuilt."
            self._context.emit("thinking", stage="memory", content=why)
            await noted(self._context, self.note_missing(found))
        return found

    async def whole(
        self, messages: Sequence[Message], newest_turn: str, history: Sequence[Json], but: str
    ) -> list[Message] | None:
        """The conversation with what was missing; None when nothing is. `newest_turn` is that of
        the last message here, `but` the turn that begins now."""
        said = await self._asked(newest_turn) if self._is_known else None
        if said is None:
            found = _with_history(messages, from_wire(history))
        else:
            # What was said later than that waits for a turn of its own.
            before = takewhile(lambda one: one.turn_id != but, said)
            found = joined(messages, newest_turn, list(before))
        if len(found) <= len(messages):
            return None
        _log.warning(
            "a session's memory was rebuilt",
            session_id=self._context.session_id,
            messages=len(found) - len(messages),
            by="the log" if said is not None else "the message's history",
        )
        return found

    def _brought(self, messages: Sequence[Message]) -> Iterator[str]:
        """What has brought in something that did not come from the session's user."""
        for name in (call["name"] for one in messages for call in one.get("tool_calls", [])):
            tool = self._context.tool(name)
            if name.startswith("mcp__") or (tool is not None and tool.brings):
                yield name

    async def note_missing(self, messages: Sequence[Message]) -> None:
        """Writes to `conversation.md` what was said behind the last thing that it has."""
        memory = self._context.memory
        written = {section.content for section in await memory.get_messages()}
        texts = [one for one in messages if one["role"] != "tool" and one["content"].strip()]
        behind = next(
            (at for at in range(len(texts), 0, -1) if texts[at - 1]["content"] in written), 0
        )
        for one in texts[behind:]:
            await memory.save_message(one["role"], one["content"])

    async def _asked(self, newest_turn: str) -> list[Said] | None:
        wanted = {"from_turn": newest_turn} if newest_turn else {}
        try:
            async with asyncio.timeout(WAIT_S):
                answer = await self._context.control.request("get_conversation", **wanted)
            return msgspec.convert(answer, _Conversation).messages
        except RequestFailed as error:
            self._is_known = error.code not in NO_SUCH_METHOD
            reason = error.message
        except (ConnectionError, TimeoutError, msgspec.ValidationError) as error:
            reason = str(error) or type(error).__name__
        session_id = self._context.session_id
        _log.warning("the conversation cannot be asked for", session_id=session_id, reason=reason)
        return None


def is_unknown(messages: Sequence[Message], history: Sequence[Json]) -> bool:
    """Whether the newest answer of a message's history is one that nobody here remembers. What was
    said before the newest turn here is none: it may have become part of a summary."""
    newest = messages[newest_question(messages) :]
    asked = [one["content"] for one in newest if one["role"] == "user"]
    for one in reversed(from_wire(history)):
        said = one["content"].strip()
        if one["role"] == "assistant":
            return not any(
                ours["role"] == "assistant" and ours["content"].strip() == said for ours in messages
            )
        if any(text.strip().startswith(said) for text in asked):  # files may stand behind it
            return False
    return False


def joined(messages: Sequence[Message], turn_id: str, said: Sequence[Said]) -> list[Message]:
    """What is here up to the turn from which on the log was asked, then what the log has."""
    theirs = messages_of(said)
    if not messages or not any(one.turn_id == turn_id for one in said):
        return theirs if len(theirs) > len(messages) else list(messages)
    start = newest_question(messages)
    ours, first = messages[start], theirs[0]
    for name in _BESIDE:
        if name in ours:
            first[name] = ours[name]
    return [*messages[:start], *theirs]


def _with_history(messages: Sequence[Message], history: Sequence[Message]) -> list[Message]:
    known = {(one["role"], one["content"]) for one in messages}
    behind = next(
        (
            at
            for at in range(len(history), 0, -1)
            if (history[at - 1]["role"], history[at - 1]["content"]) in known
        ),
        0,
    )
    return [*messages, *history[behind:]]
