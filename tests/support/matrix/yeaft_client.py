"""A Yeaft web client, written from source document 002 and WIRE-NOTES.

It keeps no position: when it returns it resumes its conversations, and shows the history that it
is given in place of what it had.
"""

from typing import Any

from tests.support.control import TestUser
from tests.support.matrix.client import ClientDriver, Json, Said
from tests.support.matrix.json_socket import JsonSocket
from tests.support.matrix.seen import ENDS, Kind, Seen
from tests.support.matrix.steps import Client

_STREAMED = (Kind.TEXT, Kind.THINKING)


class YeaftClient(ClientDriver):
    kind = Client.YEAFT_WEB

    def __init__(self, user: TestUser) -> None:
        super().__init__(user)
        self._socket: JsonSocket
        self._cancelling: set[str] = set()
        self._problems: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        """What came of a message before it was whole."""

    async def open(self) -> "YeaftClient":
        address = self.user.control.url.replace("http", "ws", 1)
        self._socket = JsonSocket(f"{address}/?type=web&token={self.user.token}", self._take)
        await self._socket.connect()
        granted = await self._socket.expect("auth_result")
        assert granted["success"] is True
        await self._socket.send({"type": "client_hello", "plaintextOk": True})
        await self._socket.expect("client_hello_ack")
        return self

    async def create(self, machine_id: str) -> str:
        seen = len(self._socket.received)
        await self._socket.send(
            {
                "type": "create_conversation",
                "agentId": machine_id,
                "provider": "claude-code",
                "workDir": "/srv/code",
            }
        )
        return str((await self._ready(seen))["conversationId"])

    async def follow(self, session_id: str) -> None:
        """With all that was said before."""
        seen = len(self._socket.received)
        await self._socket.send({"type": "resume_conversation", "conversationId": session_id})
        await self._ready(seen)

    async def _ready(self, seen: int) -> Json:
        names = ("session_ready", "error")
        answer = await self._socket.first(lambda one: one["type"] in names, names[0], seen)
        assert answer["type"] == "session_ready", answer
        return answer

    async def say(self, session_id: str, text: str) -> None:
        await self._socket.send(
            {"type": "send_message", "conversationId": session_id, "text": text}
        )

    async def say_to_group(self, group_id: str, text: str, **fields: Any) -> None:
        """002, "yeaft_session_chat"."""
        await self._socket.send(
            {"type": "yeaft_session_chat", "groupId": group_id, "text": text, **fields}
        )

    async def answer(self, session_id: str, question: Seen, answer: str) -> None:
        await self._socket.send(
            {
                "type": "ask_user_answer",
                "conversationId": session_id,
                "requestId": question.id,
                "answer": answer,
            }
        )

    async def cancel(self, session_id: str) -> None:
        self._cancelling.add(session_id)
        await self._socket.send({"type": "cancel_execution", "conversationId": session_id})

    async def drop(self) -> None:
        await self._socket.drop()

    async def come_back(self) -> None:
        await self.open()
        for session_id in list(self._views):
            await self.follow(session_id)

    async def history(self, session_id: str) -> Said:
        await self.follow(session_id)
        names = {Kind.USER: "user", Kind.TEXT: "agent"}
        return [(names[one.kind], one.text) for one in self.view(session_id).of(*names)]

    async def close(self) -> None:
        await self._socket.leave()

    def _take(self, message: Json) -> None:
        conversation = message.get("conversationId")
        if not isinstance(conversation, str):
            return
        view = self.view(conversation)
        if "history" in message:
            view.clear()
            for data in message["history"]:
                self._show(conversation, data, data.get("vpName") or "")
        elif message["type"] in ("claude_output", "yeaft_output"):
            self._show(conversation, message["data"], message.get("vpName") or "")
        elif message["type"] == "ask_user_question":
            view.show(Seen(Kind.QUESTION, asked_in(message), message["requestId"]))
        elif message["type"] == "ask_user_answered":
            view.show(Seen(Kind.ANSWERED, str(message.get("answer") or ""), message["requestId"]))

    def _show(self, conversation: str, data: Json, who: str) -> None:
        view = self.view(conversation)
        if data["type"] == "system" and data["subtype"] == "error":
            self._problems[conversation] = data["message"]
        if data["type"] == "stream_event":
            self._piece(conversation, data["event"], who)
            return
        if data["type"] != "result":
            known = self._pieces.get(conversation, "")
            view.show(
                *(
                    one
                    for one in blocks_in(data, who)
                    if one.kind not in _STREAMED or one.text not in known
                )
            )
            return
        # 002: a `result` need not have a text. The answer is what was streamed since the last one.
        said = [one for one in view.seen if one.who == who]
        while any(one.kind in ENDS for one in said):
            said.pop(0)
        streamed = "".join(one.text for one in said if one.kind is Kind.TEXT)
        text = data.get("result") or streamed
        kind = Kind.END
        if data["is_error"] or data["subtype"] != "success":
            # It has no word for a cancel either: who cancelled knows what the error means.
            is_cut = data.get("cancelled") or conversation in self._cancelling
            kind = Kind.CANCELLED if is_cut else Kind.ERROR
            text = (
                streamed if is_cut else data.get("result") or self._problems.get(conversation, "")
            )
        self._cancelling.discard(conversation)
        view.show(Seen(kind, text, who=who))

    def _piece(self, conversation: str, event: Json, who: str) -> None:
        """A piece of a message that comes again as a whole."""
        if event["type"] == "message_start":
            self._pieces[conversation] = ""
        delta = event.get("delta") or {}
        for kind, name in ((Kind.TEXT, "text"), (Kind.THINKING, "thinking")):
            if delta.get("type") == f"{name}_delta":
                self._pieces[conversation] = self._pieces.get(conversation, "") + delta[name]
                self.view(conversation).show(Seen(kind, delta[name], who=who))


def asked_in(message: Json) -> str:
    """The question, in either of its forms."""
    if "prompt" in message:
        return str(message["prompt"])
    (question,) = message["questions"]
    return str(question["question"])


def blocks_in(data: Json, who: str) -> list[Seen]:
    """002, "claude_output data"."""
    if data["type"] not in ("assistant", "user"):
        return []
    blocks = [_block(data["type"], block, who) for block in data["message"]["content"]]
    return [one for one in blocks if one is not None]


def _block(speaker: str, block: Json, who: str) -> Seen | None:
    match block["type"]:
        case "text":
            return Seen(Kind.TEXT if speaker == "assistant" else Kind.USER, block["text"], who=who)
        case "thinking":
            return Seen(Kind.THINKING, block["thinking"], who=who)
        case "tool_use":
            return Seen(Kind.TOOL, block["name"], block["id"], who)
        case "tool_result":
            return Seen(Kind.RESULT, str(block["content"]), block["tool_use_id"], who)
    return None
