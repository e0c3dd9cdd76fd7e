"""ACP as a hosted runtime: turns of one conversation with one agent, which is started when it is
needed, gone on with after its death, and told what changed between two turns."""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from trunkline.execution.errors import TurnError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.mcp.servers import LocalServer, parse_servers
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.runtimes.acp import presets, prompt
from trunkline.execution.runtimes.acp.agent import Agent
from trunkline.execution.runtimes.acp.client import Client
from trunkline.execution.runtimes.acp.errors import AgentError, failed, refused
from trunkline.execution.runtimes.acp.options import MODE, MODEL, Change, Options
from trunkline.execution.runtimes.acp.translator import Translator
from trunkline.execution.runtimes.acp.usage import Usage
from trunkline.execution.runtimes.errors import AgentGone
from trunkline.execution.runtimes.hosted.allowed_calls import AllowedCalls
from trunkline.execution.runtimes.hosted.program import Opening, Program
from trunkline.execution.runtimes.hosted.turn import Turn

_log = structlog.get_logger(__name__)

LET_GO_S = 5.0  # after a turn, for the next one to come; then people may go on in a terminal
STOP_S = 3.0  # for an agent to end its turn after a cancel; below limits.CANCEL_GRACE_S
_SETTING_S = 10.0
# Agents that tell of their own errors as the last thing they say, and end the turn as if all was
# well.
_ASIDES = {
    "Copilot": ("Info: ", "Error: ", "Warning: "),
    "goose": ("Ran into this error: ",),
}
_ERRORS = ("Error: ", "Ran into this error: ")
# Of Codex's adapter a piece of text with no name is its own, and one that is the last is an error.
_NAMES_WORDS = frozenset({"@agentclientprotocol/codex-acp"})
_NO_ERRORS = ("Warning: ", "Config warning: ", "*Context compacted ")


class AcpProgram(Program):
    """What is saved: which session of which program, where, and what it had used."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        start = opening.start
        self._config: Json = {**start.agent_config, **start.session_config}
        self._launch_model = opening.settings.model
        self._mcp_servers = _mcp_servers(opening)
        self._usage = Usage.of(opening.state.get().get("usage"))
        self._allowed = AllowedCalls(opening.state.get().get("allowed"))
        self._translator = Translator()
        self._client: Client | None = None
        self._agent: Agent | None = None
        self._is_killed = False
        self._letting_go: asyncio.Task[None] | None = None

    def configure(self, settings: Settings, patch: Json) -> None:
        """Settings come with each turn; these names are ours."""
        self._config |= {name: patch[name] for name in (MODE, "acp") if name in patch}

    async def run(self, turn: Turn) -> str:
        await self._hold()
        try:
            return await self._run(turn)
        finally:
            agent = self._agent
            if agent is not None and agent.launch.locks:
                self._letting_go = asyncio.create_task(self._let_go(agent), name="let go")

    async def _run(self, turn: Turn) -> str:
        agent, client, is_new = await self._ready(turn)
        blocks = prompt.blocks(
            turn.message, turn.attachments, self._opening.workspace, agent.prompt_capabilities
        )
        if is_new:
            blocks = prompt.with_history(blocks, turn.history)
            blocks = prompt.with_instructions(blocks, turn.settings.system_prompt)
        client.begin(turn)
        why = "the turn ended before this call did"
        try:
            result = await self._prompt(agent, client, turn, blocks)
            return self._answer(agent, turn, result)
        except asyncio.CancelledError:
            why = "cancelled"
            raise
        finally:
            client.end(why)
            self._save(agent)

    def abort(self) -> None:
        if self._agent is not None:
            self._kill(self._agent)
            self._is_killed = True  # its end may be seen only in the middle of the next turn

    def _kill(self, agent: Agent) -> None:
        """With the commands that run for it, which are ours."""
        agent.kill()
        if self._client is not None:
            self._client.kill()

    async def close(self) -> None:
        await self._hold()
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.close()

    async def _let_go(self, agent: Agent) -> None:
        await asyncio.sleep(LET_GO_S)
        if self._agent is agent:
            self._agent = None
            await agent.close()

    async def _hold(self) -> None:
        """The agent is not let go now; one that is being let go has ended."""
        task, self._letting_go = self._letting_go, None
        if task is not None:
            if self._agent is not None:
                task.cancel()  # it waits still
            await asyncio.wait({task})

    async def _ready(self, turn: Turn) -> tuple[Agent, Client, bool]:
        """The agent, in its session, set as the turn wants it; and whether that session is new.
        Raises TurnError."""
        launch = self._launch(turn.settings)
        is_good = self._agent is not None and self._agent.is_running and not self._is_killed
        if self._agent is not None and not (is_good and self._agent.launch == launch):
            await self.close()
            self._is_killed = False
        is_new = False
        if self._agent is None or self._client is None:
            is_new = await self._open(turn, launch)
        assert self._agent is not None
        assert self._client is not None
        if not await self._set(turn, self._agent):
            # It must be started anew for another model; what it knows of the talk, it keeps.
            self._launch_model = turn.settings.model
            return await self._ready(turn)
        return self._agent, self._client, is_new

    def _launch(self, settings: Settings) -> presets.Launch:
        opening = self._opening
        start = opening.start
        config = presets.read_config(self._config.get("acp"))
        wanted = presets.wanted_of(
            self._launch_model,
            opening.permits.asks(settings),
            start.api_keys,
            start.llm_config,
            opening.env,
        )
        if presets.keeps_own_login(config, opening.state.get()):
            wanted = msgspec.structs.replace(wanted, access=None)
        return presets.launch(config, wanted, Home(Path(start.home)), opening.env)

    async def _open(self, turn: Turn, launch: presets.Launch) -> bool:
        """Starts the agent and goes on with its session, or begins one."""
        turn.emit("thinking", stage="acp", content=f"{launch.name} is being started.\n")
        workspace = self._opening.workspace
        translator = self._translator = Translator()
        secrets = self._opening.start.api_keys.values()
        client = Client(
            workspace, scrubbed(self._opening.env, secrets=secrets), translator, self._allowed
        )
        agent = await Agent.start(launch, workspace, client, self._opening.flush)
        try:
            opened = None
            if session_id := self._earlier(launch):
                opened = await agent.load(session_id, workspace, self._mcp_servers)
            is_new = opened is None
            if opened is not None and launch.model:
                await _keep_to(agent, launch.model, opened)
            if opened is None:
                self._usage = Usage()
                opened = await agent.new(workspace, self._mcp_servers)
                await agent.entitle(turn.message)
        except BaseException:
            await agent.end()
            raise
        self._agent, self._client = agent, client
        translator.asides = _ASIDES.get(agent.name, ())
        translator.names_words = agent.name in _NAMES_WORDS
        translator.options.learn(opened)
        ready = {
            "again": True,
            "session_id": agent.session_id,
            "provider": launch.name,
            "agent": {"name": agent.name, "version": agent.version},
            "work_dir": str(workspace),
            **translator.options.status(),
        }
        resume = presets.resume(launch, agent.session_id, workspace)
        turn.emit("session_status", machine="online", ready=ready, resume=resume)
        self._save(agent)
        return is_new

    async def _set(self, turn: Turn, agent: Agent) -> bool:
        """Mode and model, as wanted. False where the agent can only be started with that model."""
        options = self._translator.options
        model, mode = turn.settings.model, self._config.get(MODE)
        wanted: list[tuple[str, str]] = []
        if isinstance(mode, str) and mode:
            wanted.append((MODE, mode))
        if model and not (agent.launch.model and model == self._launch_model):
            wanted.append((MODEL, model))
        for kind, value in wanted:
            try:
                change = options.change(kind, value)
                if change is not None:
                    params = {"sessionId": agent.session_id, **change.params}
                    options.learn(await agent.request(change.method, params, _SETTING_S))
            except LookupError as error:
                if kind == MODEL and agent.launch.model:
                    return False
                if kind == MODEL and not options.has(MODEL):
                    continue  # it has one, and does not say which
                code = "MODEL_NOT_FOUND" if kind == MODEL else "RUNTIME_FAILED"
                raise TurnError(code, str(error)) from error
            except AgentError as error:
                raise failed(agent.name, error.message, needs_login=False) from error
        return True

    async def _prompt(self, agent: Agent, client: Client, turn: Turn, blocks: list[Json]) -> Json:
        """Says it, and waits for the end. Raises TurnError."""
        said = asyncio.create_task(agent.prompt(blocks), name="session/prompt")
        stopped = asyncio.create_task(client.stopped.wait(), name="turn_complete")
        gone = asyncio.create_task(agent.wait(), name="agent")
        try:
            await asyncio.wait({said, stopped}, return_when=asyncio.FIRST_COMPLETED)
            result = said.result() if said.done() else {}
            if "stopReason" not in result and not stopped.done():
                # The older generation: the answer says that it has begun.
                await asyncio.wait({stopped, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not stopped.done():
                    raise AgentGone
            result = {**result, **(self._translator.stopped or {})}
            self._count(agent, turn, result)
        except asyncio.CancelledError:
            await self._stop(agent, client, turn, said, stopped)
            raise
        except AgentGone as error:
            self._agent = None
            await client.close()
            raise await agent.crashed() from error
        except AgentError as error:
            raise refused(agent.name, error) from error
        finally:
            for task in (said, stopped, gone):
                task.cancel()
        return result

    async def _stop(
        self,
        agent: Agent,
        client: Client,
        turn: Turn,
        said: asyncio.Task[Json],
        stopped: asyncio.Task[bool],
    ) -> None:
        """After a cancel: the agent ends its turn, or is killed and goes on in a new process."""
        client.withdraw()
        with suppress(AgentGone):
            await agent.cancel()
        try:
            async with asyncio.timeout(STOP_S):
                result = await _end_of(said, stopped)
            self._count(agent, turn, {**result, **(self._translator.stopped or {})})
        except TimeoutError:
            self._kill(agent)
        except (AgentError, AgentGone) as error:
            _log.info("an agent ended its cancelled turn with an error", problem=str(error))
        client.end_commands()

    def _answer(self, agent: Agent, turn: Turn, result: Json) -> str:
        """The end of a turn, by its reason. Raises TurnError."""
        translator = self._translator
        lone_text = translator.lone_text
        for begins in _ERRORS:
            if lone_text.startswith(begins):
                raise failed(agent.name, lone_text.removeprefix(begins))
        if translator.names_words and lone_text and not lone_text.startswith(_NO_ERRORS):
            raise failed(agent.name, lone_text.strip())
        match result.get("stopReason"):
            case "refusal":
                raise TurnError("MODEL_REFUSED", f"{agent.name} refused to answer.")
            case "max_turn_requests":
                why = f"{agent.name} made as many model calls as it may in a turn."
                raise TurnError("TURN_LIMIT", why)
            case "max_tokens":
                note = "The answer was cut off: the model may not say more at once."
                turn.emit("thinking", stage="model", content=note)
        return translator.answer

    def _count(self, agent: Agent, turn: Turn, result: Json) -> None:
        share = self._usage.share(agent.name, result)
        cost = self._usage.cost_share(self._translator.cost_usd)
        if share.tokens_in or share.tokens_out or cost:
            model = self._translator.options.current(MODEL) or turn.settings.model or agent.name
            turn.used(
                model,
                tokens_in=share.tokens_in,
                tokens_out=share.tokens_out,
                cache_read_tokens=share.cache_read_tokens,
                cost_usd=cost,
            )

    def _earlier(self, launch: presets.Launch) -> str:
        """The agent's name of the conversation so far, if it is one of this program, here."""
        saved = self._opening.state.get()
        here = {"program": launch.name, "workspace": str(self._opening.workspace)}
        session_id = saved.get("session_id")
        if not isinstance(session_id, str) or any(
            saved.get(name, value) != value for name, value in here.items()
        ):
            return ""
        return session_id

    def _save(self, agent: Agent) -> None:
        self._opening.state.put(
            {
                "program": agent.launch.name,
                "session_id": agent.session_id,
                "workspace": str(self._opening.workspace),
                "usage": self._usage.saved(),
                "allowed": self._allowed.saved(),
                "provider_url": agent.launch.provider_url,
            }
        )


async def _end_of(said: asyncio.Task[Json], stopped: asyncio.Task[bool]) -> Json:
    """The answer to a prompt. In the older generation it says that the turn has begun, and another
    message that it is over: one that came late would end the next turn."""
    await asyncio.wait({said, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not stopped.done() and "stopReason" not in said.result():
        await asyncio.wait({stopped})
    return said.result() if said.done() else {}


async def _keep_to(agent: Agent, model: str, opened: Json) -> None:
    """A session that goes on remembers the model that it had: it is to take the new one. An agent
    that offers no choice is told all the same."""
    options = Options()
    options.learn(opened)
    try:
        change = options.change(MODEL, model)
    except LookupError:
        change = Change("session/set_model", {"modelId": model})
    if change is not None:
        with suppress(AgentError):
            params = {"sessionId": agent.session_id, **change.params}
            await agent.request(change.method, params, _SETTING_S)


def _mcp_servers(opening: Opening) -> list[Json]:
    """Local ones, which the agent starts itself."""
    found: list[Json] = []
    for server in parse_servers(opening.start.mcp_servers, opening.problems):
        if isinstance(server, LocalServer):
            path = shutil.which(server.command, path=opening.env.get("PATH", ""))
            env = [{"name": name, "value": value} for name, value in server.env.items()]
            command = path or server.command
            found.append({"name": server.name, "command": command, "args": server.args, "env": env})
        else:
            opening.problems.append(f"MCP server {server.name!r}: ACP agents reach local ones only")
    return found
