"""A session's conversation as its log has it, for a machine that has lost its own.

Long results are cut in the middle where the whole would not fit into one frame, and the oldest
turns are left out.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.log.log import Log
from trunkline.control.services.methods import Caller
from trunkline.control.sessions.conversation import Conversation

_EVENTS_MAX = 50_000  # the newest that are looked through
_BYTES_MAX = 2 * limits.MIB
_RESULT_CHARS_MAX = 20_000  # where not everything fits

Json = dict[str, Any]


class Transcripts:
    def __init__(self, log: Log) -> None:
        self._log = log

    async def asked(self, caller: Caller, from_turn: str | None = None) -> Json:
        """The request `get_conversation`: of the session that asks."""
        return await self.conversation(caller.session_id, from_turn)

    async def conversation(self, session_id: str, from_turn: str | None = None) -> Json:
        """Everything from that turn on; without one, or where it is too long ago, the newest."""
        session = await self._log.open(session_id)
        found = await self._log.newest(session, session.last_id, _EVENTS_MAX)
        messages = messages_of(line for _, line in found)
        starts = [at for at, one in enumerate(messages) if one["turn_id"] == from_turn]
        return {"messages": fitting(messages[starts[0] if from_turn and starts else 0 :])}


def messages_of(lines: Iterable[str]) -> list[Json]:
    """Each with its `turn_id`; results follow the message with their calls."""
    conversation = Conversation()
    conversation.take(lines)
    return [one for turn in conversation.turns() for one in turn]


def fitting(messages: list[Json], bytes_max: int = _BYTES_MAX) -> list[Json]:
    """What has room: long results cut first, then the oldest turns left out."""
    if _size(messages) > bytes_max:
        messages = [_cut(one) if one["role"] == "tool" else one for one in messages]
    while messages and _size(messages) > bytes_max:
        after = [at for at, one in enumerate(messages) if at and one["role"] == "user"]
        if not after:
            break
        messages = messages[after[0] :]
    return messages if _size(messages) <= 2 * bytes_max else []


def _cut(message: Json) -> Json:
    content, half = message["content"], _RESULT_CHARS_MAX // 2
    if len(content) <= _RESULT_CHARS_MAX:
        return message
    return {**message, "content": f"{content[:half]}\n… (cut) …\n{content[-half:]}"}


def _size(messages: list[Json]) -> int:
    return len(msgspec.json.encode(messages))
