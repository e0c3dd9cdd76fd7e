"""The wires that Trunkline relays on, each with ten machines' worth of talk set up by hand.

Every wire opens one machine's line with its sessions, each with a turn under way and one reader;
the frames are the documents' own, as raw JSON. Used by the Trunkline side only.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

from bench.commands import (
    CONTENT,
    NEW_ID,
    Done,
    Exchange,
    LineSpec,
    OpenLines,
    OpenStreams,
    Step,
    StreamSpec,
)
from bench.generator.client import GeneratorClient
from bench.sides.rest import Rest

SEMIBOT = "Semibot"
YEAFT = "Yeaft"
YEAFT_FULL = "Yeaft, all of Claude's fields"
AGP = "AGP"


_CLAUDE_MESSAGE: dict[str, Any] = {
    "id": "msg_0123456789abcdefghijklmn",
    "type": "message",
    "model": "claude-sonnet",
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 12, "output_tokens": 3},
}
_CLAUDE_DATA: dict[str, Any] = {
    "parent_tool_use_id": None,
    "session_id": "00000000-0000-4000-8000-000000000000",
    "uuid": "00000000-0000-4000-8000-000000000001",
}


class Wire(Protocol):
    """How a machine and its readers come to be; one machine, one reader for each session."""

    name: str

    def open(self, generator: GeneratorClient, sessions: int) -> None: ...


@dataclass
class YeaftWire:
    """An agent's `claude_output` to Yeaft web clients (002): a WebSocket on both sides."""

    port: int
    rest: Rest
    user_id: str
    name: str = YEAFT
    """`YEAFT_FULL`: with the fields that Claude Code writes beside those of the document."""

    def open(self, generator: GeneratorClient, sessions: int) -> None:
        agent = self.rest.new_yeaft_agent(self.user_id)
        generator.ask(OpenLines(self.port, [_yeaft_line(agent)]), Done)
        token = self.rest.user_token(self.user_id)
        ids = [self.rest.new_session(token, agent["id"]) for _ in range(sessions)]
        for session_id in ids:
            self.rest.send(token, session_id, "hello")
        generator.ask(Exchange(0, [_session_ready(one) for one in ids]), Done)
        generator.ask(Exchange(0, [_told(one) for one in ids]), Done)
        full = self.name == YEAFT_FULL
        streams = [_yeaft_stream(one, token, full=full) for one in ids]
        generator.ask(OpenStreams(self.port, streams, 1), Done)


def _yeaft_line(agent: dict[str, str]) -> LineSpec:
    query = urlencode(
        {
            "type": "agent",
            "id": agent["id"],
            "name": "bench",
            "instanceId": agent["id"],
            "workDir": "",
            "platform": "linux",
            "capabilities": "",
        }
    )
    auth = {
        "type": "auth",
        "tempId": "$1",
        "secret": agent["secret"],
        "capabilities": [],
        "version": "1.0.0",
        "platform": "linux",
    }
    return LineSpec(
        path=f"/ws/yeaft?{query}",
        handshake=[
            Step(awaits=r'"auth_required".*"tempId": ?"([^"]+)"', says=json.dumps(auth)),
            Step(awaits='"registered"', says='{"type":"agent_sync_complete"}'),
        ],
    )


def _session_ready(session_id: str) -> Step:
    """002, "Conversation lifecycle": the agent's answer to `create_conversation`."""
    ready = {
        "type": "session_ready",
        "conversationId": session_id,
        "sessionId": f"s-{session_id}",
        "capabilities": [],
        "modelInfo": {},
    }
    awaits = f'"create_conversation"[^{{]*"conversationId":"{session_id}"'
    return Step(awaits=awaits, says=json.dumps(ready))


def _told(session_id: str) -> Step:
    return Step(awaits=f'"send_message"[^{{]*"conversationId":"{session_id}"')


def _yeaft_stream(session_id: str, token: str, *, full: bool) -> StreamSpec:
    message = {"role": "assistant", "content": [{"type": "text", "text": CONTENT}]}
    data = {"type": "assistant", "message": {**_CLAUDE_MESSAGE, **message} if full else message}
    head, tail = _split(
        {
            "type": "claude_output",
            "conversationId": session_id,
            "data": {**data, **_CLAUDE_DATA} if full else data,
        }
    )
    return StreamSpec(
        0,
        head,
        tail,
        f"/ws/yeaft?{urlencode({'type': 'web', 'token': token})}",
        handshake=[
            Step(awaits='"auth_result"', says='{"type":"client_hello","plaintextOk":true}'),
            Step(
                awaits='"client_hello_ack"',
                says=json.dumps({"type": "resume_conversation", "conversationId": session_id}),
            ),
            Step(awaits='"session_ready"'),
        ],
        # A relay does not read `data`: the envelope comes out as it went in.
        event=re.escape(head) + CONTENT + re.escape(tail),
    )


@dataclass
class AgpWire:
    """A device's `session.update` to SSE readers (003)."""

    port: int
    rest: Rest
    user_id: str
    name: str = AGP

    def open(self, generator: GeneratorClient, sessions: int) -> None:
        device = self.rest.new_device(self.user_id)
        named = {"guid": device["guid"], "user_id": self.user_id}
        query = urlencode({**named, "token": device["token"]})
        generator.ask(OpenLines(self.port, [LineSpec(path=f"/?{query}")]), Done)
        token = self.rest.user_token(self.user_id)
        ids = [self.rest.new_session(token, device["machine_id"]) for _ in range(sessions)]
        turns = [self.rest.send(token, one, "hello") for one in ids]
        prompts = [Step(awaits=f'"prompt_id":"{turn_id}"') for turn_id in turns]
        generator.ask(Exchange(0, prompts), Done)
        streams = [
            _agp_stream(one, turn_id, named, token) for one, turn_id in zip(ids, turns, strict=True)
        ]
        generator.ask(OpenStreams(self.port, streams, 1), Done)


def _agp_stream(session_id: str, turn_id: str, named: dict[str, str], token: str) -> StreamSpec:
    head, tail = _split(
        {
            "msg_id": NEW_ID,
            **named,
            "method": "session.update",
            "payload": {
                "session_id": session_id,
                "prompt_id": turn_id,
                "update_type": "message_chunk",
                "content": {"type": "text", "text": CONTENT},
            },
        }
    )
    return StreamSpec(
        0,
        head,
        tail,
        f"/api/v1/sessions/{session_id}/stream?last_event_id=0",
        {"Authorization": f"Bearer {token}"},
        event=rf'{{"type":"text_chunk","content":"{CONTENT}"(,"[a-z_]+":("[^"]*"|\d+))*}}',
    )


def _split(message: dict[str, Any]) -> tuple[str, str]:
    """The message as JSON, before and after the place of its content."""
    head, _, tail = json.dumps(message, separators=(",", ":")).partition(CONTENT)
    return head, tail
