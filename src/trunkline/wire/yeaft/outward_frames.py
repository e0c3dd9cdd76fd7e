"""What the control plane itself says to Yeaft web clients, as bytes
(docs/protocols/yeaft.md#output-data).

Fields stand in the order of the page, so that an agent's envelope and ours are the same bytes where
they say the same thing. Pure; called by the translation and by the web clients' edge.
"""

import json
from typing import Any, Final

import msgspec

Json = dict[str, Any]

_encoder = msgspec.json.Encoder()
_ASSISTANT = b'{"type":"assistant","message":{"role":"assistant","content":['
_USER = b'{"type":"user","message":{"role":"user","content":['


PROVIDERS: Final = ("claude-code", "copilot")


def provider_of(name: Any) -> str:
    """The name under which deployed pages know who runs a conversation. Any other breaks their
    list for good, so no other is ever given to one."""
    return name if name in PROVIDERS else PROVIDERS[0]


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
        self.text_head = self._head + _ASSISTANT + b'{"type":"text","text":'

    def data(self, data: Json) -> bytes:
        return self._head + encode(data) + b"}"

    def assistant(self, block: bytes) -> bytes:
        return self._head + _ASSISTANT + block + b"]}}}"

    def text(self, text: str) -> bytes:
        return self.text_head + encode(text) + b"}]}}}"

    def thinking(self, text: str) -> bytes:
        return self.assistant(b'{"type":"thinking","thinking":' + encode(text) + b"}")

    def tool_use(self, call_id: str, name: str, given: Any) -> bytes:
        given = given if isinstance(given, dict) else {} if given is None else {"input": given}
        block = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        return self.assistant(encode(block))

    def tool_result(self, call_id: str, content: Any, is_error: bool = False) -> bytes:
        block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        if is_error:
            block["is_error"] = True
        return self._head + _USER + encode(block) + b"]}}}"

    def system(self, kind: str, /, **fields: Any) -> bytes:
        """A system event; clients show its `message`, if it has one."""
        return self.data({"type": "system", "subtype": kind, **fields})

    def result(
        self,
        kind: str,
        /,
        *,
        session_id: str,
        is_error: bool,
        duration_ms: int,
        cost_usd: float | None,
        usage: Json,
        **more: Any,
    ) -> bytes:
        """A turn's end."""
        data: Json = {
            "type": "result",
            "subtype": kind,
            "session_id": session_id,
            "is_error": is_error,
            "duration_ms": duration_ms,
        }
        if cost_usd is not None:
            data["total_cost_usd"] = cost_usd
        return self.data({**data, "usage": usage, **more})


def user_text(text: str, said: str | None, attachments: Any) -> Json:
    """The `data` of what a person said. By `clientMessageId`, deployed clients know their own."""
    message: Json = {"role": "user", "content": [{"type": "text", "text": text}]}
    if isinstance(attachments, list) and attachments:
        message["attachments"] = attachments
    data: Json = {"type": "user", "message": message}
    if said is not None:
        data["clientMessageId"] = said
    return data


def session_ready(
    conversation_id: str, agent_id: str | None, ready: Json, *, deployed: bool, **more: Any
) -> bytes:
    """A session can be talked to, in the words of either dialect."""
    shown: Json = {"conversationId": conversation_id}
    if deployed:
        is_resumed = "history" in more or "dbMessages" in more
        kind = "conversation_resumed" if is_resumed else "conversation_created"
        shown |= {"agentId": agent_id, "workDir": ready.get("work_dir") or ""}
        provider = provider_of(ready.get("provider"))
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
