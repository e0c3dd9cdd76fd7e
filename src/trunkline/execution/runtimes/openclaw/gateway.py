"""OpenClaw's gateway, one for the machine: started when a session first needs it, kept up while
sessions do, told each session's settings, ended with the daemon.

Bridges ask for it before each turn. What one run of it is: `gateway_process`; what it is told:
`config`.
"""

import asyncio
import itertools
import secrets
import shutil
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
import structlog

from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import RequestFailed
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.llm.routes import Routes
from trunkline.execution.runtimes.errors import GatewayRefused, LinkLost
from trunkline.execution.runtimes.openclaw import config
from trunkline.execution.runtimes.openclaw.bridge import GUARD, write_guard
from trunkline.execution.runtimes.openclaw.gateway_process import (
    GATEWAY_CHECK_S,
    GatewayProcess,
    environment,
    free_port,
)
from trunkline.execution.runtimes.openclaw.keys import KeysFile, remove_left
from trunkline.execution.runtimes.openclaw.link import Link, is_busy
from trunkline.execution.runtimes.openclaw.state import tidy
from trunkline.private_files import make_folder, write_private

_log = structlog.get_logger(__name__)

GATEWAY_DELAYS_S = (0.0, 1.0, 2.0, 5.0, 15.0, 60.0)  # before each new start after a death
GATEWAY_STEADY_S = 60.0  # one that ran for so long had no fault from its start
GATEWAY_IDLE_S = 600.0  # no session has a process: its gigabyte is given back
GATEWAY_CHANGES_PER_MINUTE = 25  # of its settings; it takes 30 itself
GATEWAY_START_TRIES_MAX = 4
GATEWAY_BUSY_TRIES_MAX = 20  # of a request; it waits for seconds before it refuses one
GATEWAY_BUSY_DELAY_S = 0.25  # and twice as long each time: asking on and on keeps it busy
GATEWAY_BUSY_DELAY_S_MAX = 5.0
_END_KNOWN_S = 5.0
_ENDS_KEPT = 20

T = TypeVar("T")
Tell = Callable[[str], None]
NOT_INSTALLED = (
    "OpenClaw is not installed on this machine. "
    "Install it with: trunkline doctor --install openclaw"
)


class Gateway:
    def __init__(
        self,
        home: Home,
        *,
        program: Callable[[], tuple[str, ...]],
        node: str,
        env: Mapping[str, str],
        routes_env: Mapping[str, str],
        idle_s: float = GATEWAY_IDLE_S,
        check_s: float = GATEWAY_CHECK_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`program` says how OpenClaw is started, by nothing where it is not installed. `env` is
        what it inherits; `routes_env` may name base URLs."""
        remove_left(home.root)
        self._home = home
        self._folder = home.internal / "openclaw"
        self._program = program
        self._node = node
        self._env = env
        self._routes_env = routes_env
        self._idle_s = idle_s
        self._check_s = check_s
        self._sleep = sleep
        self._keys: dict[str, str] = {}
        self._llm_config: Json = {}
        self._agents: dict[str, config.Agent] = {}
        """Of sessions that have a process."""
        self._roster: dict[str, config.Agent] = {}
        """Those that the present run of it has taken: it refuses to forget one."""
        self._listeners: set[Tell] = set()
        self._lock = asyncio.Lock()
        self._backoff = Backoff(GATEWAY_DELAYS_S)
        self._process: GatewayProcess | None = None
        self._link = Link()
        self._token = ""
        self._keys_file: KeysFile | None = None
        self._applied: tuple[Json, dict[str, str]] = ({}, {})
        self._changes: deque[float] = deque(maxlen=GATEWAY_CHANGES_PER_MINUTE)
        self._generation = 0
        self._ends: dict[int, str] = {}
        self._idle: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Of the process between us and the gateway, while there is one."""
        return self._process.pid if self._process is not None and self._process.is_up else None

    def rekey(self, api_keys: dict[str, str], llm_config: Json) -> None:
        """Other keys or addresses; they hold from the next turn on."""
        self._keys, self._llm_config = dict(api_keys), llm_config

    async def ensure(self, params: dict[str, Any], tell: Tell) -> Json:
        """`local.openclaw_gateway`: it is up, and knows this session. Raises RequestFailed."""
        try:
            wanted = msgspec.convert(params, config.Wanted)
        except msgspec.ValidationError as error:
            raise RequestFailed("INVALID_PARAMS", str(error)) from error
        if not self._program():
            raise RequestFailed("RUNTIME_UNAVAILABLE", NOT_INSTALLED)
        routes = Routes(self._keys, self._llm_config, self._routes_env)
        agent = config.agent_of(wanted, routes, self._keys)
        self._stay()
        before = self._agents.get(agent.id)
        self._agents[agent.id] = agent
        self._listeners.add(tell)
        try:
            # A task of its own: who asks may go at any moment, and then others wait for the same.
            return await asyncio.shield(self._spawn(self._prepare(agent, before)))
        except (LinkLost, TimeoutError) as error:
            why = self._process.reason if self._process is not None else str(error)
            raise RequestFailed("RUNTIME_CRASHED", why or "OpenClaw's gateway is gone") from error
        except GatewayRefused as error:
            why = f"OpenClaw does not take these settings: {error.message}"
            raise RequestFailed("RUNTIME_FAILED", why) from error
        finally:
            self._listeners.discard(tell)

    async def ended(self, params: dict[str, Any], _tell: Tell) -> Json:
        """`local.openclaw_end`: how that run of it ended, in words."""
        generation = params.get("generation")
        process = self._process
        if process is not None and process.generation == generation:
            await asyncio.wait((process.ended,), timeout=_END_KNOWN_S)
        reason = self._ends.get(generation) if isinstance(generation, int) else None
        return {"reason": reason or "the connection to OpenClaw's gateway was lost"}

    def forget(self, session_id: str) -> None:
        """Its process has ended: nothing is kept up for it."""
        if (agent := self._agents.pop(config.agent_id(session_id), None)) is not None:
            self._spawn(self._abort(agent))
        self._rest_later()

    async def stop(self) -> None:
        self._is_closed = True
        self._stay()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._process is not None:
            await self._process.stop()
        await self._clear()

    async def _prepare(self, agent: config.Agent, before: config.Agent | None) -> Json:
        try:
            async with self._lock:
                try:
                    await self._up()
                    await self._apply(agent)
                except LinkLost:
                    # It died as it was asked, and no turn was lost with it: the next run is asked.
                    if self._process is not None:
                        await asyncio.wait((self._process.ended,), timeout=_END_KNOWN_S)
                    await self._up()
                    await self._apply(agent)
                assert self._process is not None
                return {
                    "url": f"ws://127.0.0.1:{self._process.port}",
                    "token": self._token,
                    "agent_id": agent.id,
                    "generation": self._process.generation,
                }
        except Exception:
            # It may be what this session wants; the others do without that.
            if self._agents.get(agent.id) is agent:
                del self._agents[agent.id]
                if before is not None:
                    self._agents[agent.id] = before
            raise
        finally:
            self._rest_later()

    async def _abort(self, agent: config.Agent) -> None:
        """Its bridge may have died in a turn, which would go on without anybody. With the lock: a
        new bridge's turn comes after this."""
        async with self._lock:
            with suppress(LinkLost, GatewayRefused, TimeoutError, OSError):
                whose = {"sessionKey": config.session_key(agent.id)}
                await self._patiently(lambda: self._link.request("chat.abort", whose))

    def _rest_later(self) -> None:
        if not self._agents and self._process is not None and self._idle is None:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self._idle_s, lambda: self._spawn(self._rest()))

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    async def _rest(self) -> None:
        self._idle = None
        async with self._lock:
            if not self._agents and self._process is not None:
                _log.info("nobody needs openclaw's gateway; it is ended", pid=self.pid)
                await self._process.stop()

    def _tell(self, message: str) -> None:
        for tell in list(self._listeners):
            tell(message)

    async def _up(self) -> None:
        """Starts it where it does not run. With the lock held. Raises RequestFailed."""
        for tries in itertools.count(1):
            if self._process is not None and self._process.is_up:
                if not self._link.is_open:
                    await self._connect(self._process.port)
                return
            try:
                await self._start()
                return
            except RequestFailed as error:
                # The run before it, ended with its daemon, may not be gone yet.
                if not is_busy(error.message) or tries == GATEWAY_START_TRIES_MAX:
                    raise

    async def _start(self) -> None:
        await self._clear()
        if self._is_closed:
            raise RequestFailed("SESSION_STOPPED", "the machine is being stopped")
        if delay_s := self._backoff.next_s():
            self._tell(f"OpenClaw's gateway ended; it is started again in {delay_s:.0f} s …")
            await self._sleep(delay_s)
        self._tell("Starting OpenClaw's gateway; the first time takes half a minute …")
        state = self._folder / "state"
        for folder in (self._folder, state):
            make_folder(folder)
        await asyncio.to_thread(self._sweep)
        roster = dict(self._agents)
        self._token = secrets.token_urlsafe(24)
        self._keys_file = KeysFile(self._home.root)
        self._generation += 1
        port = free_port()
        wanted = self._config(port, roster)
        file = self._folder / f"config-{secrets.token_hex(4)}" / "openclaw.json"
        write_private(file, msgspec.json.encode(wanted))
        write_guard(self._folder / GUARD)
        env = environment(self._env, file, state, self._node)
        with self._keys_file.shown(self._keys, _providers(roster)):
            process = await GatewayProcess.start(
                self._program(), env, self._folder, port, self._generation
            )
            self._process = process
            self._spawn(self._watch(process))
            await process.ready(self._tell)
        self._roster, self._applied = roster, (wanted, dict(self._keys))
        await self._connect(port)
        took_s = time.monotonic() - process.started_at
        _log.info("openclaw's gateway is ready", pid=process.pid, seconds=round(took_s, 1))
        self._tell("OpenClaw's gateway is ready.")

    async def _connect(self, port: int) -> None:
        async def connect() -> None:
            await self._link.close()
            self._link = Link()
            await self._link.open(f"ws://127.0.0.1:{port}", self._token)

        await self._patiently(connect)

    async def _watch(self, process: GatewayProcess) -> None:
        checking = asyncio.create_task(process.check(self._check_s))
        try:
            await asyncio.wait((process.ended,))
        finally:
            checking.cancel()
        self._ends[process.generation] = process.reason
        for old in sorted(self._ends)[:-_ENDS_KEPT]:
            del self._ends[old]
        if time.monotonic() - process.started_at > GATEWAY_STEADY_S:
            self._backoff.reset()
        if self._agents and not self._is_closed:
            self._spawn(self._revive())

    async def _revive(self) -> None:
        """It died while sessions had need of it: the next message should not wait for it."""
        async with self._lock:
            if not self._agents:
                return
            try:
                await self._up()
            except (RequestFailed, LinkLost, GatewayRefused, TimeoutError, OSError) as error:
                _log.error("openclaw's gateway could not be started again", problem=str(error))

    async def _apply(self, agent: config.Agent) -> None:
        """Tells it what changed since it was last told, for all who wait. With the lock held."""
        try:
            await self._offer(self._roster | self._agents | {agent.id: agent})
        except GatewayRefused:
            # Maybe for what another one wants.
            await self._offer(self._roster | {agent.id: agent})

    async def _offer(self, roster: dict[str, config.Agent]) -> None:
        assert self._process is not None
        assert self._keys_file is not None
        wanted, keys = self._config(self._process.port, roster), dict(self._keys)
        if (wanted, keys) == self._applied:
            return
        await self._pace()
        with self._keys_file.shown(self._keys, _providers(roster)):
            if wanted != self._applied[0]:
                await self._patiently(lambda: self._tell_config(wanted))
            if keys != self._applied[1]:
                await self._patiently(lambda: self._link.request("secrets.reload", {}))
        self._roster, self._applied = roster, (wanted, keys)

    async def _tell_config(self, wanted: Json) -> None:
        current = await self._link.request("config.get", {})
        raw = msgspec.json.encode(wanted).decode()
        await self._link.request("config.apply", {"raw": raw, "baseHash": current.get("hash")})

    async def _patiently(self, work: Callable[[], Awaitable[object]]) -> None:
        """Work that can be done twice, until the gateway is not too busy for it."""
        for tries in itertools.count(1):
            try:
                await work()
                return
            except GatewayRefused as error:
                if not is_busy(error.message) or tries == GATEWAY_BUSY_TRIES_MAX:
                    raise
                _log.info("openclaw's gateway is busy and is asked again", problem=error.message)
            delay_s = GATEWAY_BUSY_DELAY_S * 2 ** (tries - 1)
            await self._sleep(min(delay_s, GATEWAY_BUSY_DELAY_S_MAX))

    async def _pace(self) -> None:
        """It takes so many changes a minute; sessions that wait meanwhile share the next one."""
        if len(self._changes) == GATEWAY_CHANGES_PER_MINUTE:
            await self._sleep(max(0.0, self._changes[0] + 60.0 - time.monotonic()))
        self._changes.append(time.monotonic())

    def _config(self, port: int, roster: dict[str, config.Agent]) -> Json:
        assert self._keys_file is not None
        return config.build(
            roster.values(),
            port=port,
            token=self._token,
            keys_file=str(self._keys_file.path),
            skills=str(self._home.skills),
            log_file=str(self._folder / "gateway.log"),
            guard=str(self._folder / GUARD),
        )

    def _sweep(self) -> None:
        """Removes what the gateway was told in its last run (it would put that in the place of what
        it is told now), and what it kept of sessions and turns that are over."""
        for folder in self._folder.glob("config-*"):
            shutil.rmtree(folder, ignore_errors=True)
        sessions = [one.name for one in self._home.sessions.iterdir() if one.is_dir()]
        tidy(self._folder / "state", sessions)

    async def _clear(self) -> None:
        await self._link.close()
        self._link = Link()
        if self._keys_file is not None:
            self._keys_file.remove()
            self._keys_file = None
        self._process = None

    def _spawn(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _providers(roster: dict[str, config.Agent]) -> set[str]:
    return {agent.route.provider for agent in roster.values()}
