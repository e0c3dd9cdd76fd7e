"""An AGP device, written from source document 003: one prompt at a time, text and tools."""

from uuid import uuid4

from tests.support.control import TestUser
from tests.support.matrix.json_socket import Json, JsonSocket
from tests.support.matrix.machine import Performance, ScriptedMachine
from tests.support.matrix.steps import Machine
from tests.support.matrix.story import TOOL, Ask, Run


class AgpMachine(ScriptedMachine):
    kind = Machine.AGP

    def __init__(self, user: TestUser, guid: str) -> None:
        super().__init__()
        self.guid = guid
        self._user = user
        self._token = ""

    async def open(self) -> "AgpMachine":
        device = await self._user.ok("POST", f"/users/{self._user.id}/devices", {"guid": self.guid})
        self.machine_id, self._token = device["machine_id"], device["token"]
        await self.mend()
        return self

    async def _connect(self) -> JsonSocket:
        address = self._user.control.url.replace("http", "ws", 1)
        query = f"guid={self.guid}&user_id={self._user.id}&token={self._token}"
        return await JsonSocket(f"{address}/?{query}", self._take).connect()

    def _take(self, message: Json) -> None:
        assert (message["guid"], message["user_id"]) == (self.guid, self._user.id)
        payload = message["payload"]
        match message["method"]:
            case "session.prompt":
                assert payload["agent_app"]
                text = "\n".join(block["text"] for block in payload["content"])
                self.begin(payload["session_id"], payload["prompt_id"], text)
            case "session.cancel":
                self.cancel(payload["session_id"])

    async def _say(self, method: str, turn: Performance, **payload: object) -> None:
        await self.send(
            {
                "msg_id": str(uuid4()),
                "guid": self.guid,
                "user_id": self._user.id,
                "method": method,
                "payload": {"session_id": turn.session_id, "prompt_id": turn.turn_id, **payload},
            }
        )

    async def tell_text(self, turn: Performance, text: str) -> None:
        content = {"type": "text", "text": text}
        await self._say("session.update", turn, update_type="message_chunk", content=content)

    async def tell_run(self, turn: Performance, call_id: str, run: Run) -> None:
        call = {"tool_call_id": call_id, "title": TOOL, "kind": "execute", "status": "in_progress"}
        await self._say("session.update", turn, update_type="tool_call", tool_call=call)
        output = [{"type": "text", "text": run.output}]
        done = {"tool_call_id": call_id, "status": "completed", "content": output}
        await self._say("session.update", turn, update_type="tool_call_update", tool_call=done)

    async def tell_thought(self, turn: Performance, thought: str) -> None:
        raise NotImplementedError("003 has no update for thoughts")

    async def ask(self, turn: Performance, request_id: str, ask: Ask) -> None:
        raise NotImplementedError("003 has no question to the user")

    async def tell_end(self, turn: Performance) -> None:
        content = [{"type": "text", "text": turn.said}]
        await self._say("session.promptResponse", turn, stop_reason="end_turn", content=content)

    async def tell_failure(self, turn: Performance, problem: str) -> None:
        await self._say("session.promptResponse", turn, stop_reason="error", error=problem)

    async def tell_cancelled(self, turn: Performance) -> None:
        await self._say("session.promptResponse", turn, stop_reason="cancelled")
