"""A scripted Yeaft agent, written from source document 002 and the field notes: raw JSON on a real
WebSocket, in the documented dialect or the deployed one."""

import json
from typing import Any
from urllib.parse import urlencode

from tests.support.control import TestUser
from tests.support.peer import Json, Peer

DOCUMENTED, DEPLOYED = "documented", "deployed"


class ScriptedAgent(Peer):
    """One line of one agent.

    `answers`: it creates and resumes conversations when told to, as a real one does.
    """

    def __init__(
        self,
        url: str,
        agent_id: str,
        secret: str,
        dialect: str = DOCUMENTED,
        *,
        answers: bool = True,
        path: str = "/ws/yeaft",
        **query: str,
    ) -> None:
        super().__init__(agent_url(url + path, agent_id, **query))
        self.id = agent_id
        self.secret = secret
        self.dialect = dialect
        self.answers = answers
        self.base = url
        self.path = path

    async def _greet(self) -> None:
        await self.register()

    async def register(self, *, sync: bool = True, **fields: Any) -> Json:
        """The handshake of the field notes; returns `registered`."""
        asked = await self.expect("auth_required")
        await self.send(auth(asked, self.secret, **fields))
        registered = await self.expect("registered")
        if sync:
            await self.sync()
        return registered

    async def sync(self, *conversations: Json) -> None:
        """What an agent sends first: what it has, if it says so, then that it is done."""
        if conversations:
            await self.send({"type": "conversation_list", "conversations": list(conversations)})
        await self.send({"type": "agent_sync_complete"})

    def again(self, **changes: Any) -> "ScriptedAgent":
        """The same agent, for a line of its own."""
        same: Json = {"url": self.base, "answers": self.answers, "path": self.path, **changes}
        return ScriptedAgent(agent_id=self.id, secret=self.secret, dialect=self.dialect, **same)

    async def returned(self) -> "ScriptedAgent":
        """The same agent on a new line: let in, but not in sync yet."""
        back = await self.again().connect()
        await back.register(sync=False)
        return back

    async def send(self, *messages: Json) -> None:
        for message in messages:
            await self.send_text(json.dumps(message, separators=(",", ":")))

    async def output(self, conversation_id: str, **data: Any) -> None:
        """002: `claude_output`, whose data is Claude's stream-json."""
        await self.send({"type": "claude_output", "conversationId": conversation_id, "data": data})

    async def blocks(self, conversation_id: str, *blocks: Json) -> None:
        """An assistant's message of these blocks."""
        message = {"role": "assistant", "content": list(blocks)}
        await self.output(conversation_id, type="assistant", message=message)

    async def text(self, conversation_id: str, *pieces: str) -> None:
        for piece in pieces:
            await self.blocks(conversation_id, {"type": "text", "text": piece})

    async def tool(self, conversation_id: str, call_id: str, name: str, given: Json) -> None:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        await self.blocks(conversation_id, block)

    async def tool_result(self, conversation_id: str, call_id: str, content: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        message = {"role": "user", "content": [block]}
        await self.output(conversation_id, type="user", message=message)

    async def result(self, conversation_id: str, subtype: str = "success", **fields: Any) -> None:
        """A turn's end, with what a deployed agent says behind it."""
        await self.output(
            conversation_id,
            **{
                "type": "result",
                "subtype": subtype,
                "session_id": f"own-{conversation_id}",
                "is_error": subtype != "success",
                "duration_ms": 1234,
                "total_cost_usd": 0.012,
                "usage": {"input_tokens": 10, "output_tokens": 5},
                **fields,
            },
        )
        if self.dialect == DEPLOYED:
            await self.send({"type": "turn_completed", "conversationId": conversation_id})

    async def ask(self, conversation_id: str, request_id: str, prompt: str, **fields: Any) -> None:
        """002: a tool asks the user."""
        await self.send(
            {
                "type": "ask_user_question",
                "conversationId": conversation_id,
                "requestId": request_id,
                "prompt": prompt,
                **fields,
            }
        )

    async def cancelled(self, conversation_id: str) -> None:
        """How an agent ends a turn that was cancelled."""
        if self.dialect == DEPLOYED:
            await self.send({"type": "execution_cancelled", "conversationId": conversation_id})
        else:
            await self.result(conversation_id, "error_during_execution")

    async def ready(self, conversation_id: str, *, resumed: bool = False) -> None:
        """The answer to `create_conversation` or `resume_conversation`."""
        own = f"own-{conversation_id}"
        message: Json = {"conversationId": conversation_id, "workDir": "/srv/project"}
        if self.dialect == DOCUMENTED:
            message |= {"type": "session_ready", "sessionId": own, "capabilities": ["text"]}
            message |= {"modelInfo": {"name": "scripted"}}
        elif resumed:
            message |= {"type": "conversation_resumed", "claudeSessionId": own}
        else:
            message |= {"type": "conversation_created", "provider": "claude-code"}
        await self.send(message)

    async def prompt(self, text: str) -> Json:
        """A user's message of that text, in the words of this agent's dialect."""
        if self.dialect == DOCUMENTED:
            return await self.expect("send_message", lambda one: one["text"] == text)
        kinds = ("execute", "transfer_files")
        return await self.first(
            lambda one: one["type"] in kinds and one["prompt"] == text, f"prompt {text!r}"
        )

    def said(self) -> list[str]:
        """What users said, as this agent heard it."""
        words = [one.get("text", one.get("prompt")) for one in self.received]
        return [one for one in words if one is not None]

    async def _take(self, message: Json) -> None:
        if self.answers and message["type"] == "create_conversation":
            await self.ready(message["conversationId"])
        elif self.answers and message["type"] == "resume_conversation":
            await self.ready(message["conversationId"], resumed=True)


def agent_url(url: str, agent_id: str, **more: str) -> str:
    """Where an agent connects, with what the field notes say that it tells there."""
    fields = {
        "type": "agent",
        "id": agent_id,
        "name": "builder",
        "instanceId": "i-1",
        "workDir": "/srv/project",
        "platform": "linux",
        "capabilities": "terminal,file_editor",
        **more,
    }
    return f"{url.replace('http', 'ws', 1)}?{urlencode(fields)}"


def auth(asked: Json, secret: str, **more: Any) -> Json:
    """The answer to `auth_required`."""
    return {
        "type": "auth",
        "tempId": asked["tempId"],
        "secret": secret,
        "capabilities": ["terminal", "file_editor"],
        "version": "1.0.0",
        "platform": "linux",
        **more,
    }


async def new_agent(user: TestUser, dialect: str = DOCUMENTED, **more: Any) -> ScriptedAgent:
    """A new agent of that user; it is not connected yet."""
    issued = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "builder"})
    return ScriptedAgent(user.control.url, issued["id"], issued["secret"], dialect, **more)
