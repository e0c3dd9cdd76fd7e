"""A Yeaft agent as people install it: by a secret and an address, with the habits of deployed ones.

It knows no id of ours. Each conversation has one program, whose costs add up; `context_usage` comes
before every `result`; a second message that comes with files ends in no word at all: the agent
takes the program's `result` for one that it has passed on already.
"""

from tests.support.peer import Json
from tests.support.yeaft_agent import DEPLOYED, ScriptedAgent

COMMANDS = ["cost", "review"]
_COST_USD = 0.01  # of each turn
_PRELOAD = "__preload__"


class InstalledAgent(ScriptedAgent):
    """Answers every message by itself, with what it was told."""

    def __init__(self, url: str, secret: str, instance: str = "3f1c", name: str = "laptop") -> None:
        super().__init__(url, f"{name}.local", secret, DEPLOYED, name=name, instanceId=instance)
        self._turns: dict[str, int] = {}
        """How many each conversation has had."""
        self._busy: set[str] = set()

    async def sync(self, *conversations: Json) -> None:
        commands = {"slashCommands": COMMANDS, "slashCommandDescriptions": {"cost": "Show costs"}}
        await self.send(
            {"type": "slash_commands_update", "conversationId": _PRELOAD, **commands},
            {"type": "conversation_mcp_update", "conversationId": _PRELOAD, "servers": []},
        )
        await self._list()
        await self.send({"type": "agent_sync_complete"})

    async def _list(self) -> None:
        """Sent behind whatever changes it."""
        there = [{"id": one, "processing": one in self._busy} for one in self._turns]
        await self.send({"type": "conversation_list", "conversations": there})

    async def _take(self, message: Json) -> None:
        kind, conversation = message["type"], message.get("conversationId", "")
        if kind in ("create_conversation", "resume_conversation"):
            self._turns[conversation] = 0
            await self.ready(conversation, resumed=kind == "resume_conversation")
            await self._list()
        elif kind in ("execute", "transfer_files"):
            await self._run(conversation, message)

    async def _run(self, conversation: str, message: Json) -> None:
        is_first = self._turns[conversation] == 0
        self._turns[conversation] += 1
        self._busy.add(conversation)
        prompt = message["prompt"]
        said = {"role": "user", "content": prompt}
        await self.output(conversation, type="user", message=said)
        await self._list()
        if is_first:
            own = {"session_id": f"own-{conversation}", "slash_commands": COMMANDS}
            await self.output(conversation, type="system", subtype="init", **own)
        files = [one["name"] for one in message.get("files", [])]
        await self.text(conversation, "You said ", prompt, *files)
        streamed = {"message": {"role": "assistant", "content": []}, "_finishStreaming": True}
        await self.output(conversation, type="assistant", **streamed)
        used = {"inputTokens": 100, "maxTokens": 200_000, "percentage": 0}
        await self.send({"type": "context_usage", "conversationId": conversation, **used})
        if files and not is_first:
            return  # and it lists the conversation as busy from now on
        self._busy.discard(conversation)
        spent = round(self._turns[conversation] * _COST_USD, 6)
        await self.result(conversation, total_cost_usd=spent)
        await self._list()
