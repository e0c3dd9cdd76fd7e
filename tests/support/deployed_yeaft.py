"""A Yeaft server as it is deployed: a relay with rules of its own about what agents may say.

What it does beyond document 002, seen in its public source: it encrypts what it sends to agents
that do not say `plaintext-ok`; it drops what an agent says of conversations that the agent has
neither made nor listed since it connected, and a `turn_completed` of a conversation that it does
not know to be at work; after one it takes it to be, only if `hasQueuedFollowUp` says so, and never
after `execution_cancelled`; it keeps what a person said only when the agent repeats it. Its catalog
of a person's conversations has a row for each, with the provider that the agent names: with any
other name than its own two, neither it nor its pages can read that catalog again.
"""

import json
from typing import Any

from aiohttp import web

from tests.support.foreign_servers import Json, YeaftServer

_OPENS = ("conversation_created", "conversation_resumed")
_PROVIDERS = ("claude-code", "copilot")
_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


class DeployedYeaft(YeaftServer):
    """`shown` is what people's pages get, `kept` the conversations as its database has them."""

    def __init__(self, secret: str = "right") -> None:
        super().__init__(secret)
        self.shown: list[Json] = []
        self.kept: dict[str, list[tuple[str, str]]] = {}
        self.conversations: dict[str, Json] = {}
        self.catalog: dict[str, str] | None = {}
        """The provider of each conversation; None: it is spoilt, and stays so."""
        self.is_ready = False
        self._is_plain = False

    async def let_in(self, line: web.WebSocketResponse) -> bool:
        await line.send_str(json.dumps({"type": "auth_required", "tempId": "temp-1"}))
        auth = await line.receive_json()
        if auth["type"] != "auth" or auth["secret"] != self._secret:
            await line.close(code=1008, message=b"Invalid agent secret")
            return False
        self._is_plain = "plaintext-ok" in auth["capabilities"]
        self.conversations, self.is_ready = {}, False
        registered = {"agentId": "u-1:desk-1", "sessionKey": _KEY, "acceptPlaintext": True}
        more = {"serverCapabilities": ["workbench_file_content_chunks"]}
        await line.send_str(json.dumps({"type": "registered", **registered, **more}))
        return True

    async def send(self, message: Json | str) -> None:
        if self._is_plain:
            await super().send(message)
        else:
            await super().send({"n": "bm9uY2U=", "c": "c2VjcmV0"})

    def took(self, message: Json) -> None:
        super().took(message)
        name, conversation_id = message["type"], message.get("conversationId")
        if name == "conversation_list":
            self._list(message["conversations"])
        elif name in _OPENS:
            self.conversations[message["conversationId"]] = {"processing": False, **message}
            self._catalogue(message["conversationId"], message.get("provider", "claude-code"))
        elif name == "agent_sync_complete":
            self.is_ready = True
        elif conversation_id is not None and conversation_id not in self.conversations:
            return
        elif name == "turn_completed":
            conversation = self.conversations[message["conversationId"]]
            if not conversation["processing"]:
                return
            conversation["processing"] = message.get("hasQueuedFollowUp") is True
        elif name == "execution_cancelled":
            self.conversations[message["conversationId"]]["processing"] = False
        elif name == "conversation_deleted":
            del self.conversations[message["conversationId"]]
        elif name == "claude_output":
            self._keep(message["conversationId"], message["data"])
        self.shown.append(message)

    def _catalogue(self, conversation_id: str, provider: str) -> None:
        if provider not in _PROVIDERS:
            self.catalog = None
        elif self.catalog is not None:
            self.catalog[conversation_id] = provider

    def _list(self, listed: list[Json]) -> None:
        ids = {one["id"] for one in listed}
        self.conversations = {id_: one for id_, one in self.conversations.items() if id_ in ids}
        for one in listed:
            known = self.conversations.setdefault(one["id"], {})
            known["processing"] = one["processing"]

    def _keep(self, conversation_id: str, data: Json) -> None:
        kept = self.kept.setdefault(conversation_id, [])
        if data["type"] not in ("user", "assistant"):
            return
        content = data["message"]["content"]
        if isinstance(content, list):
            content = "".join(block.get("text", "") for block in content)
        if content:
            kept.append((data["type"], content))

    async def chat(self, conversation_id: str, prompt: str, **more: Any) -> None:
        """The field names of its own envelopes, with those that are empty."""
        conversation = self.conversations[conversation_id]
        conversation["processing"] = True
        fields: Json = {"conversationId": conversation_id, "prompt": prompt, "workDir": "there"}
        fields |= {"claudeSessionId": conversation.get("claudeSessionId")}
        extra = {"targetRole": None, "expertSelections": None, "expertMessage": None}
        await self.say("execute", **fields, **extra, **more)

    def pages(self, kind: str, conversation_id: str) -> list[Json]:
        """What pages were told of a conversation."""
        return [
            one
            for one in self.shown
            if one["type"] == kind and one.get("conversationId") == conversation_id
        ]
