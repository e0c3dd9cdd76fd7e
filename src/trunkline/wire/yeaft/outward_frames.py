"""What the control plane itself says to Yeaft web clients, as bytes
(docs/protocols/yeaft.md#output-data).

Fields stand in the order of the page, so that an agent's envelope and ours are the same bytes where
they say the same thing. Pure; called by the translation and by the web clients' edge.
"""

import json
from typing import Any

import msgspec

from trunkline.wire.yeaft.providers import shown_to_pages

Json = dict[str, Any]

_encoder = msgspec.json.Encoder()
_TEXT = b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":'

_COMMANDS_MAX = 500  # docs/protocols/events.md#event-types
_COMMAND_CHARS_MAX = 200
_DESCRIPTION_CHARS_MAX = 1_000


def encode(value: Any) -> bytes:
    """JSON of anything that came out of a log, half characters and huge numbers included."""
    try:
        return _encoder.encode(value)
    except (UnicodeError, OverflowError, TypeError, ValueError):
        return json.dumps(value, default=str, separators=(",", ":")).encode()


def envelope(kind: str, /, **fields: Any) -> bytes:
    """Any envelope; fields that are None are left out."""
    return encode({"type": kind, **{name: one for name, one in fields.items() if one is not None}})


class Frame:
    """The envelope around the `data` of one conversation, or of one person in a group's."""

    __slots__ = ("_head", "text_head")

    def __init__(
        self, conversation_id: str, group_id: str | None = None, person: Json | None = None
    ) -> None:
        fields: Json = {"type": "claude_output", "conversationId": conversation_id}
        if person is not None:
            fields["type"] = "yeaft_output"
            fields |= {"groupId": group_id, "vpId": person.get("id"), "vpName": person.get("name")}
        self._head = encode(fields)[:-1] + b',"data":'
        self.text_head = self._head + _TEXT

    def data(self, data: Json) -> bytes:
        return self.written(encode(data))

    def written(self, data: bytes) -> bytes:
        """Around `data` that is JSON already: its bytes stay as they are."""
        return self._head + data + b"}"

    def text(self, text: str) -> bytes:
        """As `stream_json.text` has it: pieces of text are nearly all there is."""
        return self.text_head + encode(text) + b"}]}}}"


def slash_commands(conversation_id: str, commands: list[Any]) -> bytes:
    """What can be said to a session behind a slash, as pages complete it."""
    known: dict[str, str] = {}
    for one in commands[:_COMMANDS_MAX]:
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str) and name.lstrip("/"):
            about = one.get("description")
            shown = about[:_DESCRIPTION_CHARS_MAX] if isinstance(about, str) else ""
            known[name.lstrip("/")[:_COMMAND_CHARS_MAX]] = shown
    return envelope(
        "slash_commands_update",
        conversationId=conversation_id,
        slashCommands=list(known),
        slashCommandDescriptions={name: about for name, about in known.items() if about},
    )


def session_ready(
    conversation_id: str, agent_id: str | None, ready: Json, *, deployed: bool, **more: Any
) -> bytes:
    """A session can be talked to, in the words of either dialect."""
    shown: Json = {"conversationId": conversation_id}
    if deployed:
        is_resumed = "history" in more or "dbMessages" in more
        kind = "conversation_resumed" if is_resumed else "conversation_created"
        shown |= {"agentId": agent_id, "workDir": ready.get("work_dir") or ""}
        provider = shown_to_pages(ready.get("provider"))
        shown |= {"provider": provider, "claudeSessionId": ready.get("session_id")}
        shown |= {"capabilities": ready.get("capabilities") or []}
        return encode({"type": kind, **shown, **more})
    shown |= {"sessionId": ready.get("session_id") or conversation_id}
    shown |= {"capabilities": ready.get("capabilities") or [], "modelInfo": ready.get("model_info")}
    shown["agentId"] = agent_id
    for name, field in (("provider", "provider"), ("workDir", "work_dir")):
        if ready.get(field):
            shown[name] = ready[field]
    return encode({"type": "session_ready", **shown, **more})
