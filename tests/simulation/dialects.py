"""How a scripted machine speaks: what it is told in its wire's words, and how it says what it does.

Down, a frame becomes one of the commands that `SimMachine` knows; up, one of its events becomes
frames.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.simulation.stores import USER
from trunkline.wire.agp import messages as agp
from trunkline.wire.commands import Answer, Cancel, Say, Start, Stop

Json = dict[str, Any]

_KEPT = ("3", "7")
"""Turns whose end a deployed agent keeps to itself, by how their names end."""


class Dialect:
    """Of machines that are told commands and say events, as they are."""

    def __init__(self, machine_id: str, turn_of: Callable[[str, str], str]) -> None:
        """`turn_of`: the turn of a session that a message has opened."""
        self.machine_id = machine_id
        self.turn_of = turn_of

    def read(self, frame: Any) -> Any:
        return frame

    def said(self, session_id: str, seq: int | None, event: Json) -> list[Any]:
        return [("event", session_id, seq, json.dumps(event))]

    def ready(self, session_id: str) -> list[Any]:
        """It has created a session, or taken it up again."""
        return []

    def unknown(self, session_id: str) -> list[Any]:
        """It has no such session to take up."""
        return []

    def deleted(self, session_id: str) -> list[Any]:
        return []

    def first(self, sessions: dict[str, bool]) -> list[Any]:
        """What it says first on a line, behind what it has kept. Which of its sessions are busy."""
        return []


class AgpDialect(Dialect):
    """A device: prompts and cancels down, updates and answers up. It asks nothing."""

    _count = 0

    def read(self, frame: Any) -> Any:
        match frame:
            case (agp.Prompt(payload=asked),):
                text = asked.content[0].text or ""
                return Say(asked.session_id, asked.prompt_id, text, [], {}), 0
            case (agp.Cancel(payload=ended),):
                return Cancel(ended.session_id, ended.prompt_id), ended.prompt_id
        return frame

    def said(self, session_id: str, seq: int | None, event: Json) -> list[Any]:
        self._count += 1
        who = {"msg_id": f"{self.machine_id}-{self._count}", "guid": self.machine_id}
        turn_id = event["turn_id"]
        if event["type"] == "text_chunk":
            block = agp.ContentBlock(agp.TEXT, event["content"])
            update = agp.UpdatePayload(session_id, turn_id, agp.MESSAGE_CHUNK, block)
            return [agp.Update(user_id=USER, payload=update, **who)]
        reason = agp.CANCELLED if event.get("cancelled") else agp.END_TURN
        content = agp.blocks(event["content"])
        answer = agp.PromptResponsePayload(session_id, turn_id, reason, content)
        return [agp.PromptResponse(user_id=USER, payload=answer, **who)]


class YeaftDialect(Dialect):
    """An agent: its messages name no turn, and a message has no id."""

    is_deployed = False

    def read(self, frame: Any) -> Any:
        if not isinstance(frame[0], bytes):
            return frame
        told = json.loads(frame[0])
        session_id = told["conversationId"]
        match told["type"]:
            case "create_conversation":
                return Start(session_id, "", {}, [], [], [], {}), 0
            case "resume_conversation":
                return "resume", session_id
            case "send_message" | "execute":
                text = told.get("text") or told.get("prompt")
                return Say(session_id, self.turn_of(session_id, text), text, [], {}), 0
            case "cancel_execution":
                return Cancel(session_id, ""), 0
            case "ask_user_answer":
                return Answer(session_id, told["requestId"], told["confirmed"]), 0
            case "refresh_conversation":
                return "words", session_id
            case "delete_conversation":
                return Stop(session_id, ""), 0
        raise AssertionError(f"an agent is told {told}")

    def said(self, session_id: str, seq: int | None, event: Json) -> list[Any]:
        match event["type"]:
            case "text_chunk":
                block = {"type": "text", "text": event["content"]}
                output = {"type": "assistant", "message": {"content": [block]}}
                return self._made(session_id, ("claude_output", {"data": output}))
            case "approval_request":
                asked = {"requestId": event["request_id"], "prompt": "?"}
                return self._made(session_id, ("ask_user_question", asked))
        if event.get("cancelled") and self.is_deployed:
            return self._made(session_id, ("execution_cancelled", {}))
        output = {"type": "result", "subtype": "success", "result": event["content"]}
        ends = [("claude_output", {"data": output})]
        if self.is_deployed:
            ends.append(("turn_completed", {}))
        return self._made(session_id, *ends)

    def ready(self, session_id: str) -> list[Any]:
        name = "conversation_created" if self.is_deployed else "session_ready"
        return self._made(session_id, (name, {"sessionId": f"own {session_id}"}))

    def unknown(self, session_id: str) -> list[Any]:
        return self._made(session_id, ("error", {"message": "no such conversation"}))

    def deleted(self, session_id: str) -> list[Any]:
        return self._made(session_id, ("conversation_deleted", {}))

    def _made(self, session_id: str, *messages: tuple[str, Json]) -> list[Any]:
        return [
            json.dumps({"type": name, "conversationId": session_id, **fields})
            for name, fields in messages
        ]

    def first(self, sessions: dict[str, bool]) -> list[Any]:
        listed: Iterable[Json] = [{"id": one, "processing": busy} for one, busy in sessions.items()]
        return [
            json.dumps({"type": "conversation_list", "conversations": listed}),
            json.dumps({"type": "agent_sync_complete"}),
        ]


class DeployedDialect(YeaftDialect):
    """It keeps some ends to itself: its `context_usage` is the last that is heard of the turn, and
    its list calls the conversation busy until the next turn ends."""

    is_deployed = True

    def __init__(self, machine_id: str, turn_of: Callable[[str, str], str]) -> None:
        super().__init__(machine_id, turn_of)
        self._stuck: set[str] = set()

    def said(self, session_id: str, seq: int | None, event: Json) -> list[Any]:
        is_end = event["type"] == "execution_complete" and not event.get("cancelled")
        if not is_end:
            return super().said(session_id, seq, event)
        used = self._made(session_id, ("context_usage", {"inputTokens": 1}))
        if not event["content"].endswith(_KEPT):
            self._stuck.discard(session_id)
            return [*used, *super().said(session_id, seq, event)]
        self._stuck.add(session_id)
        last_words = {"type": "text_chunk", "content": event["content"]}
        return [*super().said(session_id, seq, last_words), *used]

    def first(self, sessions: dict[str, bool]) -> list[Any]:
        return super().first({one: busy or one in self._stuck for one, busy in sessions.items()})


class UnlistedDialect(YeaftDialect):
    """It does not say what it has, or is at."""

    def first(self, sessions: dict[str, bool]) -> list[Any]:
        return super().first(sessions)[1:]
