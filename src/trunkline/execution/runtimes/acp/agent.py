"""An ACP agent that runs: greeted, logged in where it wants that, with one session open in it."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from trunkline import __version__, extras, limits
from trunkline.execution.errors import TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.client import CAPABILITIES, Client
from trunkline.execution.runtimes.acp.content import items, name_of, obj, text, title_of
from trunkline.execution.runtimes.acp.errors import AUTH_REQUIRED, AgentError, failed
from trunkline.execution.runtimes.acp.launched import Launched
from trunkline.execution.runtimes.acp.presets import Launch
from trunkline.execution.runtimes.errors import AgentGone
from trunkline.execution.texts import shortened

if TYPE_CHECKING:
    from trunkline.execution.runtimes.acp.rpc import Peer

_log = structlog.get_logger(__name__)

GREETING_S = 60.0  # from its start to its answer to `initialize`; a first start unpacks itself
OPENING_S = 60.0  # for a session to open, MCP servers included
_RPC = "trunkline.execution.runtimes.acp.rpc"
# They answer to `session/load` first, and say all of it again afterwards.
_REPLAYS_LATE = frozenset({"gemini-cli"})
_ROUNDS_MAX = 100
# How some agents name a login by a key in the environment, where they do not say which.
_KEY_METHODS = {"gemini-api-key": "GEMINI_API_KEY"}


class Agent:
    """Made by `start`; a session is opened by `new` or `load`."""

    def __init__(self, launch: Launch, process: Launched, peer: "Peer", client: Client) -> None:
        self.launch = launch
        self._process = process
        self._peer = peer
        self._client = client
        self._greeting: Json = {}

    @classmethod
    async def start(
        cls,
        launch: Launch,
        workspace: Path,
        client: Client,
        flush: Callable[[], Awaitable[None]],
    ) -> "Agent":
        """`flush` waits while what the agent said is not taken. Raises TurnError."""
        process = await Launched.start(launch.name, launch.argv, launch.env, workspace)
        try:
            rpc = await asyncio.to_thread(importlib.import_module, _RPC)
            peer = rpc.Peer(process, client.answer, client.take, flush)
        except BaseException as error:
            await process.ended()
            if isinstance(error, ImportError):
                fix = extras.fix("runtimes")
                why = f"ACP needs the package agent-client-protocol, which is not installed: {fix}"
                raise TurnError("RUNTIME_UNAVAILABLE", why) from error
            raise
        agent = cls(launch, process, peer, client)
        try:
            await agent._greet(rpc.VERSION)
        except BaseException:
            await agent.end()
            raise
        return agent

    @property
    def session_id(self) -> str:
        return self._client.session_id

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def name(self) -> str:
        """As it calls itself."""
        return text(obj(self._greeting.get("agentInfo")).get("name"), 100) or self.launch.name

    @property
    def version(self) -> str:
        return text(obj(self._greeting.get("agentInfo")).get("version"), 100)

    @property
    def prompt_capabilities(self) -> Json:
        return obj(self._capabilities.get("promptCapabilities"))

    @property
    def _capabilities(self) -> Json:
        return obj(self._greeting.get("agentCapabilities"))

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    async def new(self, workspace: Path, mcp_servers: list[Json]) -> Json:
        """Raises TurnError."""
        params = {"cwd": str(workspace), "mcpServers": mcp_servers}
        try:
            opened = await self.request("session/new", params, OPENING_S)
        except AgentError as error:
            if error.rpc_code != AUTH_REQUIRED:
                raise failed(self.name, error.message) from error
            opened = await self._log_in_and("session/new", params, error)
        self._client.session_id = name_of(opened.get("sessionId"), limits.URL_CHARS_MAX)
        if not self.session_id:
            raise TurnError("RUNTIME_FAILED", f"{self.name} opened no session")
        return opened

    async def entitle(self, words: str) -> None:
        """Gives a session that is new a title, where the agent takes one: else some ask a model for
        it, at their user's cost."""
        title = title_of(words)
        if not title or "title" not in obj(self._capabilities.get("sessionCapabilities")):
            return
        with suppress(AgentError):
            params = {"sessionId": self.session_id, "title": title}
            await self.request("session/set_title", params, OPENING_S)

    async def load(self, session_id: str, workspace: Path, mcp_servers: list[Json]) -> Json | None:
        """Goes on with an earlier session; None where the agent cannot, or does not know it.
        Raises TurnError where somebody else has it open.

        `session/resume` says nothing again of what was said before, `session/load` all of it:
        nobody listens then."""
        if "resume" in obj(self._capabilities.get("sessionCapabilities")):
            method = "session/resume"
        elif self._capabilities.get("loadSession") is True:
            method = "session/load"
        else:
            return None
        params = {"sessionId": session_id, "cwd": str(workspace), "mcpServers": mcp_servers}
        try:
            try:
                opened = await self.request(method, params, OPENING_S)
            except AgentError as error:
                if error.rpc_code != AUTH_REQUIRED:
                    raise
                opened = await self._log_in_and(method, params, error)
        except AgentError as error:
            if error.is_in_use:
                why = "the conversation is open in a terminal; it goes on here when that is closed"
                raise TurnError("RUNTIME_FAILED", f"{self.name}: {why}") from error
            _log.warning("an agent does not know its session", problem=error.message)
            return None
        self._client.session_id = session_id
        if method == "session/load" and self.name in _REPLAYS_LATE:
            await self._replayed(text(obj(opened.get("modes")).get("currentModeId"), 100))
        return opened

    async def _replayed(self, mode: str) -> None:
        """Until it has said again what was said before: nothing comes between a question that
        changes nothing and its answer."""
        for _ in range(_ROUNDS_MAX):
            before = self._client.updates
            params = {"sessionId": self.session_id, "modeId": mode}
            with suppress(AgentError):
                await self.request("session/set_mode", params, OPENING_S)
            if self._client.updates == before:
                return

    async def request(self, method: str, params: Json, within_s: float) -> Json:
        """Raises AgentError; TurnError when it ends or is silent."""
        try:
            async with asyncio.timeout(within_s):
                return await self._peer.request(method, params)
        except TimeoutError:
            self.kill()
            why = f"{self.name} did not answer to {method} within {within_s:g} s and was ended"
            raise TurnError("RUNTIME_CRASHED", why) from None
        except AgentGone as error:
            raise await self.crashed() from error

    async def prompt(self, blocks: list[Json]) -> Json:
        """A turn, to its end. Raises AgentError, AgentGone."""
        return await self._peer.request(
            "session/prompt", {"sessionId": self.session_id, "prompt": blocks}
        )

    async def cancel(self) -> None:
        """Raises AgentGone."""
        await self._peer.notify("session/cancel", {"sessionId": self.session_id})

    async def wait(self) -> None:
        """Until it has ended."""
        await self._process.wait()

    async def crashed(self) -> TurnError:
        """What a turn is told whose agent is gone."""
        return TurnError("RUNTIME_CRASHED", await self._process.ended())

    def kill(self) -> None:
        self._process.kill()

    async def end(self) -> None:
        """Nobody will need it: it is killed, and gone with all that it left when this returns."""
        self.kill()
        await self.close()

    async def close(self) -> None:
        """Terminals first: they are ours, and not of the agent's family."""
        await self._client.close()
        await self._process.close()
        await self._peer.close()

    async def _greet(self, version: int) -> None:
        info = {"name": "trunkline", "title": "Trunkline", "version": __version__}
        params: Json = {"protocolVersion": version, "clientInfo": info}
        params["clientCapabilities"] = CAPABILITIES
        try:
            self._greeting = await self.request("initialize", params, GREETING_S)
        except AgentError as error:
            raise failed(self.launch.name, error.message) from error
        spoken = self._greeting.get("protocolVersion", version)
        if spoken != version:
            why = f"{self.name} speaks version {shortened(str(spoken), 20)} of ACP, not {version}"
            raise TurnError("RUNTIME_FAILED", why)

    async def _log_in_and(self, method: str, params: Json, refusal: AgentError) -> Json:
        """Asks again behind a login that needs nobody; without one, its own words say what a
        person can do. Raises TurnError, and AgentError for what went wrong after a login."""
        offered = [obj(one) for one in items(self._greeting.get("authMethods"))]
        words = refusal.message
        for way in offered:
            if not _is_in_environment(way, self.launch.env):
                continue
            try:
                way_id = text(way.get("id"), limits.ID_CHARS_MAX)
                await self.request("authenticate", {"methodId": way_id}, OPENING_S)
                return await self.request(method, params, OPENING_S)
            except AgentError as error:
                if method != "session/new" and error.rpc_code != AUTH_REQUIRED:
                    raise
                words = error.message
        ways = "; ".join(filter(None, map(_way, offered)))
        told = f"{words}. It offers: {ways}" if ways else words
        raise failed(self.name, told, needs_login=True)


def _is_in_environment(method: Json, env: Mapping[str, str]) -> bool:
    names = [obj(one).get("name") for one in items(method.get("vars"))]
    if method.get("type") == "env_var" and names:
        return all(isinstance(name, str) and env.get(name) for name in names)
    return bool(env.get(_KEY_METHODS.get(str(method.get("id")), "")))


def _way(method: Json) -> str:
    name, about = text(method.get("name"), 100), text(method.get("description"), 300)
    return f"{name} ({about})" if name and about else name or about
