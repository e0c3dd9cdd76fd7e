"""The daemon of an execution plane: one line, many sessions, nothing left behind.

`python -m trunkline.execution.main` reads the environment; `trunkline node` calls `run`. The
daemon stays light: graphs, models and tools live in the sessions' processes.
"""

import asyncio
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from trunkline.execution import logs
from trunkline.execution.errors import HomeBusy, ServerRefused, SettingsError
from trunkline.execution.fence import probe
from trunkline.execution.fence.groups import Groups
from trunkline.execution.fence.machine import Fence
from trunkline.execution.health import Health
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.line import MACHINE, MachineSide
from trunkline.execution.llm import lessons
from trunkline.execution.llm.lessons import Lessons
from trunkline.execution.llm.local_server import LocalModelServer
from trunkline.execution.llm.routes import Routes
from trunkline.execution.orchestrator.settings import NAMES
from trunkline.execution.process import family
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.catalog import Catalog
from trunkline.execution.runtimes.foreign.answers import Answers
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.runtimes.hosted.adapter import HostedAdapter
from trunkline.execution.runtimes.openclaw.runtime import OpenClaw
from trunkline.execution.session import compacting
from trunkline.execution.session.answers import SessionAnswers
from trunkline.execution.session.fencing import no_fence
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process_requests import Local
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter
from trunkline.execution.session.session import MakeAdapter
from trunkline.execution.settings import NodeSettings
from trunkline.execution.worktrees import Worktrees
from trunkline.execution.ws.configured_line import line_of

_log = structlog.get_logger(__name__)

_STOPPING = (signal.SIGTERM, signal.SIGINT)
NODE_STOP_S = 10.0  # from SIGTERM to the end of the daemon
SESSION_IDLE_CHECK_S = 30.0
_SETTLE_S = 2.0  # between two looks whether a full disk has room again

HOSTED = {
    "claude-code": "trunkline.execution.runtimes.claude_code.process:run",
    "acp": "trunkline.execution.runtimes.acp.process:main",
}
"""Runtimes whose program is driven from Python: the function of their sessions' process."""

_STRAYS_PAUSE_S = 0.01
_STRAYS_ROUNDS_MAX = 100


class Node:
    """One machine: its parts, put together."""

    def __init__(
        self,
        settings: NodeSettings,
        home: Home,
        stop: asyncio.Event,
        fence: Fence | None = None,
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._fence = fence
        self._home = home
        self._sockets = SocketFolder(home.run)
        self._models = LocalModelServer()
        self._spawner = Spawner(
            scrubbed(
                os.environ,
                # The router's, which may hold a login; tools are not given them then.
                keep=[*settings.passed_names, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"],
                secrets=[settings.token, settings.ticket or "", *settings.api_keys.values()],
            ),
            home.workspace,
            settings.target,
            log_level=settings.log_level,
            json_logs=settings.json_logs,
            after_death=self._end_strays,
        )
        self._refusal: str | None = None
        roots = Roots(
            home.workspace, settings.roots, usual=settings.workspace, closed=home.internal
        )
        library = Library(Path.home(), os.environ, roots)
        self._client = line_of(settings, home, library, self._refused)
        worktrees = Worktrees(home.worktrees, roots.contains)
        self._foreign = Answers(library, home)
        self._work = SessionAnswers(home, worktrees)
        semigraph = partial(SemiGraphAdapter, self._spawner.spawn, self._sockets, settings.patience)
        self._openclaw = OpenClaw(
            home,
            self._sockets,
            settings.patience,
            env=scrubbed(
                os.environ,
                keep=settings.passed_names,
                secrets=[settings.token, settings.ticket or "", *settings.api_keys.values()],
            ),
            routes_env=os.environ,
            fence=fence.of_gateway() if fence is not None else None,
        )
        runtimes: dict[str, MakeAdapter] = {
            "semigraph": semigraph,
            "openclaw": self._openclaw.adapter,
        }
        for name, target in (HOSTED | settings.hosted).items():
            launch = partial(self._spawner.spawn, target=target)
            runtimes[name] = partial(HostedAdapter, launch, self._sockets, settings.patience)
        local: dict[str, Local] = {
            "local.model": lambda _, tell: self._models.ensure(tell),
            lessons.METHOD: Lessons(home.lessons_file).answer,
            **self._openclaw.local,
        }
        self._manager = SessionManager(
            self._client,
            home,
            runtimes,
            roots=roots,
            worktrees=worktrees,
            sessions_max=settings.sessions_max,
            clock=time.time,
            local=local,
            fence=fence.profile if fence is not None else no_fence,
        )
        self._models_offered: Json | None = None
        catalog = Catalog(runtimes, home, os.environ)
        told = fence.told() if fence is not None else None
        self._health = Health(
            catalog,
            self._manager.counts,
            settings.sessions_max,
            fence=told,
            semigraph=self._semigraph_knows,
        )
        self._client.register_session(MACHINE, self._manager.handlers())
        self._side = MachineSide(
            active_sessions=self._manager.names,
            open_turns=self._manager.turns,
            health=self._health.report,
            answer=self._answer,
            initialized=self._initialized,
            line_changed=self._manager.line_changed,
        )

    async def serve(self) -> None:
        """Until `stop` is set; then everything is saved, ended and gone. Raises ServerRefused when
        a foreign server does not want this machine."""
        beside: list[asyncio.Task[Any]] = []
        try:
            if self._fence is not None:
                await self._fence.proxy.open()
            await self._spawner.start()
            self._manager.find_left()
            beside = [
                asyncio.create_task(self._health.run(), name="health"),
                asyncio.create_task(
                    self._manager.snapshots.run(self._manager.active_sessions.values),
                    name="snapshots",
                ),
                asyncio.create_task(self._rest_idle(), name="idle sessions"),
                asyncio.create_task(self._settle(), name="what found no room"),
                asyncio.create_task(self._connect(), name="line"),
            ]
            await self._stop.wait()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._close()
        if self._refusal is not None:
            raise ServerRefused(self._refusal)

    async def _answer(self, method: str, params: Json) -> Json:
        if method == compacting.METHOD:
            return compacting.compact(self._manager.active_sessions, params)
        answers = self._work if self._work.knows(method) else self._foreign
        return await answers.answer(method, params)

    def _refused(self, why: str) -> None:
        self._refusal = why
        self._stop.set()

    async def _connect(self) -> None:
        await self._client.connect(self._side)
        try:
            await self._manager.recover()
        except Exception:
            _log.exception("sessions of an earlier run could not be taken up")

    async def _rest_idle(self) -> None:
        while True:
            await asyncio.sleep(SESSION_IDLE_CHECK_S)
            self._manager.rest_idle()
            self._sweep()

    async def _settle(self) -> None:
        while True:
            await asyncio.sleep(_SETTLE_S)
            self._client.settle()
            self._manager.settle()

    async def _close(self) -> None:
        _log.info("stopping", sessions=len(self._manager.active_sessions))
        await self._manager.close()
        await self._client.close()
        # The fork server ends whatever is still there, even if that took no notice of us.
        ending = (self._spawner.close(), self._models.stop(), self._openclaw.stop())
        await asyncio.gather(*ending, return_exceptions=True)
        if self._fence is not None:
            await self._fence.proxy.close()
        await self._end_strays()
        self._sweep(is_over=True)
        self._sockets.close()

    def _sweep(self, *, is_over: bool = False) -> None:
        if self._fence is not None and self._fence.groups is not None:
            self._fence.groups.sweep(is_over=is_over)

    def _initialized(self, init: Json) -> None:
        keys = self._settings.api_keys | (init.get("api_keys") or {})
        logs.hide(keys.values())
        self._manager.initialized({**init, "api_keys": keys})
        config = init.get("llm_config") or {}
        self._openclaw.rekey(keys, config)
        self._models_offered = Routes(keys, config, os.environ).offered()
        try:
            self._home.write_config(
                user_id=init.get("user_id") or self._settings.user_id,
                org_id=init.get("org_id"),
                control_plane=self._settings.control_plane_url,
                sessions_max=self._settings.sessions_max,
            )
        except OSError as error:
            # It is there to be looked at; a full disk must not cost the line.
            _log.error("config.json cannot be written", problem=str(error))

    def _semigraph_knows(self) -> Json:
        models = {} if self._models_offered is None else {"models": self._models_offered}
        return {"settings": NAMES, **models}

    async def _end_strays(self) -> None:
        """After a fork server's death: what it had kept is now below us, and ends."""
        for _ in range(_STRAYS_ROUNDS_MAX):
            if not family.end_strays(self._own_children()):
                return
            await asyncio.sleep(_STRAYS_PAUSE_S)
        _log.error("processes of sessions cannot be ended", count=len(family.children()))

    def _own_children(self) -> set[int]:
        """Programs that the daemon itself started share its kernel session, or are known."""
        ours = {pid for pid in family.children() if family.is_in_our_session(pid)}
        models = {self._models.pid} if self._models.pid is not None else set()
        return ours | models | self._openclaw.own()


def run(settings: NodeSettings) -> None:
    """Runs a daemon until SIGTERM or SIGINT. Raises HomeBusy, SettingsError, ServerRefused."""
    logs.configure(json_logs=settings.json_logs, level=settings.log_level)
    logs.hide([settings.token, settings.ticket])
    early = _note_signals()
    home = Home(settings.home)
    home.make()
    lock = home.claim()
    family.adopt_orphans()
    family.hide_memory()
    fence = _fence(settings, home)
    try:
        asyncio.run(_run(settings, home, fence, early))
    finally:
        os.close(lock)


def _note_signals() -> list[int]:
    """Those that come before the loop takes them. None is raised as an exception: in a fork that
    would be lost, and what the fence is tried with would end as if it did not hold."""
    early: list[int] = []
    for number in _STOPPING:
        signal.signal(number, lambda number, _: early.append(number))
    return early


def _fence(settings: NodeSettings, home: Home) -> Fence:
    """While this process has one thread."""
    fence = Fence(
        home,
        settings.fence,
        probe.look(),
        hidden=settings.hidden,
        roots=[*settings.roots, *([settings.workspace] if settings.workspace else [])],
        network=settings.network,
        hosts=settings.network_hosts,
        groups=Groups.below_ours() if settings.fence != "off" else None,
    )
    told = fence.told()
    (_log.info if fence.in_force else _log.warning)("fence", words=told["words"])
    return fence


async def _run(settings: NodeSettings, home: Home, fence: Fence, early: list[int]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _STOPPING:
        loop.add_signal_handler(number, stop.set)
    if early:
        stop.set()
    serving = asyncio.create_task(Node(settings, home, stop, fence).serve())
    await asyncio.wait((serving, asyncio.create_task(stop.wait())), return_when="FIRST_COMPLETED")
    _, late = await asyncio.wait((serving,), timeout=NODE_STOP_S - 1)
    if late:
        _log.error("not everything ended in time; leaving all the same")
        # The fork server notices that we are gone and ends what is left.
        os._exit(1)
    serving.result()


def main() -> int:
    try:
        settings = NodeSettings.from_env()
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        run(settings)
    except (HomeBusy, OSError, SettingsError, ServerRefused) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
