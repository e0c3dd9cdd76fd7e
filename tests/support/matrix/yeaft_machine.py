"""Yeaft agents, written from source document 002 and WIRE-NOTES: both dialects.

The documented one hears `send_message` and ends a turn with its `result`; the deployed one hears
`execute` and ends with `turn_completed`, or `execution_cancelled`.
"""

from typing import Any

from tests.support.control import TestUser
from tests.support.matrix.json_socket import Json, JsonSocket
from tests.support.matrix.machine import Performance, ScriptedMachine
from tests.support.matrix.steps import Machine
from tests.support.matrix.story import TOOL, Ask, Run
from tests.support.yeaft_agent import agent_url, auth


class YeaftMachine(ScriptedMachine):
    """The documented dialect."""

    kind = Machine.YEAFT_DOCUMENTED

    def __init__(self, user: TestUser, name: str) -> None:
        super().__init__()
        self.name = name
        self._user = user
        self._secret = ""
        self._turns = 0

    async def open(self) -> "YeaftMachine":
        made = await self._user.ok(
            "POST", f"/users/{self._user.id}/yeaft-agents", {"name": self.name}
        )
        self.machine_id, self._secret = made["id"], made["secret"]
        await self.mend()
        return self

    async def _connect(self) -> JsonSocket:
        url = agent_url(
            f"{self._user.control.url}/",
            self.machine_id,
            name=self.name,
            instanceId=f"instance-of-{self.name}",
            workDir="/srv/code",
        )
        socket = await JsonSocket(url, self._take).connect()
        await socket.send(auth(await socket.expect("auth_required"), self._secret))
        registered = await socket.expect("registered")
        assert registered["agentId"] == self.machine_id
        await socket.send({"type": "agent_status", "state": "idle"})
        return socket

    async def mend(self) -> None:
        await super().mend()
        await self.send({"type": "agent_sync_complete"})

    def _take(self, message: Json) -> None:
        conversation = message.get("conversationId", "")
        match message["type"]:
            case "create_conversation" | "resume_conversation":
                self.spawn(self._ready(conversation, message))
            case "send_message":
                self._turns += 1
                self.begin(conversation, f"turn-{self._turns}", message["text"])
            case "cancel_execution":
                self.cancel(conversation)
            case "ask_user_answer":
                self.answered(message["requestId"], self._answer_in(message))

    def _answer_in(self, message: Json) -> str:
        return str(message["answer"])

    async def _ready(self, conversation: str, asked: Json) -> None:
        await self.send(
            {
                "type": "session_ready",
                "conversationId": conversation,
                "sessionId": f"native-{conversation}",
                "capabilities": ["tools"],
                "modelInfo": {"model": "scripted"},
            }
        )

    async def _output(self, turn: Performance, **data: Any) -> None:
        await self.send({"type": "claude_output", "conversationId": turn.session_id, "data": data})

    async def _said(self, turn: Performance, **block: Any) -> None:
        message = {"role": "assistant", "content": [block]}
        await self._output(turn, type="assistant", message=message)

    async def tell_text(self, turn: Performance, text: str) -> None:
        await self._said(turn, type="text", text=text)

    async def tell_thought(self, turn: Performance, thought: str) -> None:
        await self._said(turn, type="thinking", thinking=thought, signature="sig")

    async def tell_run(self, turn: Performance, call_id: str, run: Run) -> None:
        await self._said(
            turn, type="tool_use", id=call_id, name=TOOL, input={"command": run.command}
        )
        result = {"type": "tool_result", "tool_use_id": call_id, "content": run.output}
        await self._output(turn, type="user", message={"role": "user", "content": [result]})

    async def ask(self, turn: Performance, request_id: str, ask: Ask) -> None:
        question: Json = {
            "type": "ask_user_question",
            "conversationId": turn.session_id,
            "requestId": request_id,
            "prompt": ask.question,
            "multiSelect": False,
        }
        if ask.options:
            question["choices"] = list(ask.options)
        await self.send(question)

    async def _result(self, turn: Performance, subtype: str = "success", **more: Any) -> None:
        await self._output(
            turn,
            type="result",
            subtype=subtype,
            session_id=f"native-{turn.session_id}",
            is_error=subtype != "success",
            duration_ms=12,
            total_cost_usd=0.001,
            usage={"input_tokens": 3, "output_tokens": 5},
            **more,
        )

    async def tell_end(self, turn: Performance) -> None:
        await self._result(turn)

    async def tell_failure(self, turn: Performance, problem: str) -> None:
        await self._output(turn, type="system", subtype="error", message=problem)
        await self._result(turn, "error_during_execution")

    async def tell_cancelled(self, turn: Performance) -> None:
        await self._result(turn, "error_during_execution")


class DeployedYeaftMachine(YeaftMachine):
    kind = Machine.YEAFT_DEPLOYED

    def _take(self, message: Json) -> None:
        if message["type"] == "execute":
            self._turns += 1
            self.begin(message["conversationId"], f"turn-{self._turns}", message["prompt"])
        elif message["type"] != "send_message":  # a name that it has never heard of
            super()._take(message)

    def _answer_in(self, message: Json) -> str:
        (answer,) = message["answers"].values()
        return str(answer)

    async def _ready(self, conversation: str, asked: Json) -> None:
        is_new = asked["type"] == "create_conversation"
        await self.send(
            {
                "type": f"conversation_{'created' if is_new else 'resumed'}",
                "conversationId": conversation,
                "workDir": asked.get("workDir") or "/srv/code",
                "provider": "claude-code",
                "capabilities": ["tools"],
            }
        )

    async def ask(self, turn: Performance, request_id: str, ask: Ask) -> None:
        options = [{"label": one, "description": ""} for one in ask.options]
        question = {"question": ask.question, "header": "?", "options": options}
        await self.send(
            {
                "type": "ask_user_question",
                "conversationId": turn.session_id,
                "requestId": request_id,
                "questions": [{**question, "multiSelect": False}],
            }
        )

    async def _over(self, turn: Performance, kind: str) -> None:
        await self.send({"type": kind, "conversationId": turn.session_id})

    async def tell_end(self, turn: Performance) -> None:
        await self._result(turn, result=turn.said)
        await self._over(turn, "turn_completed")

    async def tell_failure(self, turn: Performance, problem: str) -> None:
        await self._result(turn, "error_during_execution", result=problem)
        await self._over(turn, "turn_completed")

    async def tell_cancelled(self, turn: Performance) -> None:
        await self._over(turn, "execution_cancelled")
