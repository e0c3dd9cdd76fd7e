"""Output of an agent that sends its provider's own events as `data`: put into the form that the
wire has for them, before anything else is made of it (docs/protocols/yeaft.md#providers). Pure.

The engine's events become `yeaft_output`, an ACP agent's `claude_output`, or `ask_user_question`
and `slash_commands_update`. What an envelope has besides its `data` stays.
"""

from typing import Any

import msgspec

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import acp, codec, engine, names
from trunkline.wire.yeaft.messages import Envelope
from trunkline.wire.yeaft.output_data import TYPES
from trunkline.wire.yeaft.outward_frames import encode, slash_commands
from trunkline.wire.yeaft.provider_turn import ProviderTurn

Json = dict[str, Any]

_OUTPUT = ("claude_output", "yeaft_output")


class _Peek(msgspec.Struct, rename="camel", gc=False):
    type: Any = None
    method: Any = None
    session_update: Any = None


def translated(
    turn: ProviderTurn, envelope: Envelope, text: str, turn_id: str | None, now_ms: int
) -> list[str] | None:
    """The envelopes that it becomes, perhaps none; None if it has the document's form already, or
    one that is not known here: then it passes as it came."""
    if names.canonical(envelope.type) not in _OUTPUT:
        return None
    try:
        peek = codec.read(envelope.data, _Peek)
    except Malformed:
        return None
    if isinstance(peek.type, str) and peek.type in engine.EVENTS:
        turn.at(turn_id, now_ms)
        made = engine.to_data(turn, _data(text), now_ms)
        return [_envelope(text, "yeaft_output", one) for one in made]
    if peek.method is None and peek.session_update is None and not _is_acp(peek.type):
        return None
    event = acp.event_of(_data(text))
    if event is None:
        return None
    turn.at(turn_id, now_ms)
    return _of_acp(turn, event, text, now_ms)


def unknown_type(envelope: Envelope) -> str | None:
    """The type of what an agent puts out, where it is none that has a form here."""
    if names.canonical(envelope.type) not in _OUTPUT:
        return None
    try:
        peek = codec.read(envelope.data, _Peek)
    except Malformed:
        return None
    kind = peek.type
    if not isinstance(kind, str) or kind in TYPES or kind in engine.EVENTS:
        return None
    is_acp = peek.method is not None or peek.session_update is not None or _is_acp(kind)
    return None if is_acp else kind


def _of_acp(turn: ProviderTurn, event: acp.AcpEvent, text: str, now_ms: int) -> list[str] | None:
    question, commands = acp.question_of(event), acp.commands_of(event)
    if question is not None:
        return [_envelope(text, "ask_user_question", None, **question)]
    if commands is not None:
        conversation_id = codec.decode(text).conversation_id
        return [slash_commands(conversation_id, commands).decode()]
    made = acp.to_data(turn, event, now_ms)
    return None if made is None else [_envelope(text, "claude_output", one) for one in made]


def _is_acp(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("session/")


def _data(text: str) -> Json:
    data = codec.fields(text)["data"]
    return data if isinstance(data, dict) else {}


def _envelope(text: str, kind: str, data: Json | None, **more: Any) -> str:
    fields = codec.fields(text, without=("type", "data"))
    told = {"type": kind, **fields, **more}
    if data is not None:
        told["data"] = data
    return encode(told).decode()
