"""A scripted execution plane of the deployed kind: what it does is what the field notes say.

Where it differs from the document's (`tests/support/vm.py`): it reads `history` instead of
`message`, takes frames of at most 1 MiB, sends one frame a token, asks for its user's memory as
`__memory__`, loads every skill when a session starts, and looks for the session of a
`config_update` in its `data` only. It cannot start a session without `agent_id`, nor without a
`default_model` in `init`: then it raises. It starts local MCP servers by itself, from their
entries. Its model says what it was asked, and how much it knows.
"""

import asyncio
import json
import shlex
from collections.abc import Coroutine
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from tests.support.control import TestUser
from tests.support.peer import Json, Peer

MIB = 1024 * 1024


class DeployedDaemon(Peer):
    """One line; what it runs is gone with it, unless the next one is given it."""

    bytes_max = MIB

    def __init__(
        self, user: TestUser, token: str, ticket: str | None = None, *, memory: bool = True
    ) -> None:
        """`ticket`: None for a reconnection, whose address has none; empty for a daemon that was
        started without one. `memory`: whether a turn begins with a search."""
        query = f"?user_id={user.id}" + ("" if ticket is None else f"&ticket={ticket}")
        super().__init__(user.ws_url + query)
        self.token = token
        self.sessions: dict[str, Json] = {}
        """What it runs: the `data` of each start, as `config_update` has changed it."""
        self.packages: dict[str, Json | None] = {}
        """The skills that it has loaded; None: it was refused."""
        self.models: dict[str, str] = {}
        self.agents: dict[str, str] = {}
        """Which model, and whose configuration, each of its sessions has."""
        self._llm_config: Json = {}
        self.remembered: list[Json] = []
        """What its searches found."""
        self.is_silent = False
        """Its model does not answer."""
        self.pending: list[str] = []
        """The requests without an answer: those that `resume` asks for."""
        self._memory = memory
        self._asked = 0
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._at_work: set[asyncio.Task[None]] = set()

    async def _greet(self) -> None:
        await self.send({"type": "auth", "token": self.token})
        await self.expect("init")

    async def resume(self) -> Json:
        """The first thing that it says on a line that came back."""
        await self.send({"type": "resume", "pending_ids": self.pending})
        return await self.expect("resume_response")

    async def heartbeat(self) -> None:
        await self.send({"type": "heartbeat", "active_sessions": list(self.sessions)})

    async def send(self, message: Json) -> None:
        await self.send_text(json.dumps(message, ensure_ascii=False))

    async def event(self, session_id: str, **event: Any) -> None:
        text = json.dumps(event, ensure_ascii=False)
        await self.send({"type": "sse_event", "session_id": session_id, "data": text})

    async def request(self, session_id: str, method: str, /, **params: Any) -> Json:
        """The `response`."""
        self._asked += 1
        request_id = f"{id(self)}-{self._asked}"
        self.pending.append(request_id)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._answers[request_id] = answer
        head = {"type": "request", "id": request_id, "session_id": session_id}
        await self.send({**head, "method": method, "params": params})
        return await answer

    async def report(self, session_id: str, method: str, /, **params: Any) -> None:
        head = {"type": "fire_and_forget", "session_id": session_id}
        await self.send({**head, "method": method, "params": params})

    async def finish(self) -> None:
        for task in self._at_work:
            task.cancel()
        await super().finish()

    async def _take(self, message: Json) -> None:
        data = message.get("data") or {}
        match message["type"]:
            case "response":
                self.pending.remove(message["id"])
                self._answers.pop(message["id"]).set_result(message)
            case "init":
                self._llm_config = data["llm_config"]
            case "start_session":
                self.models[data["session_id"]] = self._model_of(data)
                self.agents[data["session_id"]] = data["agent_id"]
                self.sessions[data["session_id"]] = data
                self._begin(self._load_skills(data))
            case "stop_session":
                self.sessions.pop(data["session_id"], None)
            case "config_update":
                session = self.sessions.get(data.get("session_id", ""))
                if session is not None and "agent_config" in data:
                    session["agent_config"] = data["agent_config"]
            case "user_message" if message["session_id"] in self.sessions and not self.is_silent:
                self._begin(self.answer(message["session_id"], data))

    def _model_of(self, data: Json) -> str:
        default = self._llm_config["default_model"]
        return str(data["agent_config"].get("model") or default)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _load_skills(self, data: Json) -> None:
        session_id = data["session_id"]
        for skill in data["skill_index"]:
            answer = await self.request(session_id, "get_skill_package", skill_id=skill["id"])
            self.packages[skill["id"]] = (answer["result"] or {}).get("package")

    async def answer(self, session_id: str, data: Json) -> None:
        """A turn: what it knows of the conversation is `history`, if there is any."""
        said = [one["content"] for one in data["history"]] or [data["message"]]
        if self._memory:
            found = await self.request("__memory__", "memory_search", query=said[-1], top_k=5)
            self.remembered += (found["result"] or {}).get("results", [])
        final = f"{said[-1]} ({len(said)} messages)"
        await self.tokens(session_id, [f"{word} " for word in final.split(" ")])
        await self.event(session_id, type="execution_complete", final_response=final)

    async def tokens(self, session_id: str, pieces: list[str]) -> None:
        """One frame each."""
        for piece in pieces:
            await self.event(session_id, type="text_chunk", content=piece)

    async def call_tool(self, session_id: str, server_id: str, tool: str, **given: Any) -> str:
        """Starts the MCP server as its entry says, and calls that tool there; what it returned."""
        command, *args = self.mcp_command(session_id, server_id)
        env = (self._mcp_entry(session_id, server_id)["auth_config"] or {}).get("env")
        call = {"server_id": server_id, "tool_name": tool, "arguments": given}
        await self.event(session_id, type="mcp_call_start", **call)
        server = StdioServerParameters(command=command, args=args, env=env)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
            await client.initialize()
            assert tool in {one.name for one in (await client.list_tools()).tools}
            result = await client.call_tool(tool, given)
        text = "".join(one.text for one in result.content if isinstance(one, TextContent))
        await self.event(session_id, type="mcp_call_complete", **call, result=text)
        return text

    def _mcp_entry(self, session_id: str, server_id: str) -> Json:
        servers = self.sessions[session_id]["mcp_servers"]
        entry: Json = next(one for one in servers if one["id"] == server_id)
        return entry

    def mcp_command(self, session_id: str, server_id: str) -> list[str]:
        """What it starts of an MCP server whose transport is stdio."""
        server = self._mcp_entry(session_id, server_id)
        assert server["transport"] == "stdio"
        return shlex.split(server["endpoint"])


async def scheduled(user: TestUser, *, memory: bool = True, **fields: Any) -> DeployedDaemon:
    """A new one, which connects when it is entered."""
    vm = await user.schedule(**fields)
    return DeployedDaemon(user, vm["token"], vm["ticket"], memory=memory)
