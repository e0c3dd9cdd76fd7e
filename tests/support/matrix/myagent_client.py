"""A MyAgent client, written from source document 001 and WIRE-NOTES: many sessions, one socket."""

from typing import Any

from tests.support.control import TestUser
from tests.support.matrix.client import ClientDriver, Json, Said
from tests.support.matrix.json_socket import JsonSocket
from tests.support.matrix.seen import Kind, Seen
from tests.support.matrix.steps import Client


class MyAgentClient(ClientDriver):
    kind = Client.MYAGENT

    def __init__(self, user: TestUser) -> None:
        super().__init__(user)
        self._socket: JsonSocket
        self._last_event_id = ""

    async def open(self) -> "MyAgentClient":
        address = self.user.control.url.replace("http", "ws", 1)
        self._socket = JsonSocket(f"{address}/", self._take)
        await self._socket.connect(Authorization=f"Bearer {self.user.token}")
        await self._expect("system.connected")
        return self

    async def create(self, machine_id: str) -> str:
        known = set(self._views)
        await self._send("user.create_session", content={"machine_id": machine_id})
        made = await self._socket.first(
            lambda one: one["event"] == "agent.session_created" and one["session_id"] not in known,
            "agent.session_created",
        )
        self.view(made["session_id"])
        return str(made["session_id"])

    async def follow(self, session_id: str) -> None:
        await self._send("user.reconnect", session_id, content={"last_seq": 0})
        await self._expect("agent.session_created", session_id)

    async def say(self, session_id: str, text: str) -> None:
        await self._send("user.message", session_id, content=text)

    async def answer(self, session_id: str, question: Seen, answer: str) -> None:
        await self._send("user.response", session_id, step_id=question.id, content=answer)

    async def cancel(self, session_id: str) -> None:
        await self._send("user.cancel", session_id)

    async def drop(self) -> None:
        await self._socket.drop()

    async def come_back(self) -> None:
        """On a new connection, after the last event that it had on the old one."""
        position = {"last_event_id": self._last_event_id}
        await self.open()
        for session_id in self._views:
            await self._send("user.reconnect", session_id, metadata=position)

    async def history(self, session_id: str) -> Said:
        await self._send("user.request_state", session_id)
        exported = await self._expect("agent.state_exported", session_id)
        content = exported["content"]
        signed = content.get("signed_state", content)
        names = {"user": "user", "assistant": "agent"}
        return [(names[one["role"]], one["content"]) for one in signed["state"]["messages"]]

    async def close(self) -> None:
        await self._socket.leave()

    async def _send(self, event: str, session_id: str | None = None, **fields: Any) -> None:
        named = {} if session_id is None else {"session_id": session_id}
        await self._socket.send({"event": event, **named, **fields})

    async def _expect(self, event: str, session_id: str | None = None) -> Json:
        return await self._socket.first(
            lambda one: one["event"] == event and one.get("session_id") == session_id, event
        )

    def _take(self, message: Json) -> None:
        assert message["timestamp"]
        assert ("session_id" in message) is not message["event"].startswith("system.")
        assert message["event_id"].endswith(f"-{message['seq']}")
        self._last_event_id = message["event_id"]
        if "session_id" in message:
            self.view(message["session_id"]).show(*seen_in(message))


def seen_in(message: Json) -> list[Seen]:
    """001, "Agent 事件", with the shapes of WIRE-NOTES."""
    content, step_id = message.get("content"), message.get("step_id", "")
    metadata = message.get("metadata") or {}
    who = (metadata.get("person") or {}).get("name", "")
    match message["event"]:
        case "agent.partial_answer":
            return [Seen(Kind.TEXT, str(content), who=who)]
        case "agent.thinking" if "confirmation" in metadata:
            return [Seen(Kind.ANSWERED, "", step_id)]
        case "agent.thinking" if metadata.get("stage") == "turn":
            return []  # that a turn runs
        case "agent.thinking":
            return [Seen(Kind.THINKING, str(content), who=who)]
        case "agent.tool_call":
            return [Seen(Kind.TOOL, message["content"]["tool_name"], step_id, who)]
        case "agent.tool_result":
            return [Seen(Kind.RESULT, str(message["content"]["result"]), step_id, who)]
        case "agent.user_confirm":
            return [Seen(Kind.QUESTION, message["content"]["message"], step_id, who)]
        case "agent.final_answer":
            return [Seen(Kind.END, str(content))]
        case "agent.interrupted":
            return [Seen(Kind.CANCELLED)]
        case "agent.error":
            return [Seen(Kind.ERROR, str(content))]
    return []
