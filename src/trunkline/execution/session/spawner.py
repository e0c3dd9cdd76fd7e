"""Keeps a fork server running, and asks it for processes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from trunkline import limits
from trunkline.execution.session import fork_server
from trunkline.execution.session.child import StartFailed
from trunkline.execution.session.fork_link import ForkedChild, ForkLink, ServerGone, seen

_log = structlog.get_logger(__name__)


class Spawner:
    """One fork server after the other, as long as the daemon lives."""

    def __init__(
        self,
        env: Mapping[str, str],
        folder: Path,
        target: str = fork_server.DEFAULT_TARGET,
        *,
        log_level: str = "info",
        json_logs: bool = False,
        ready_s: float = limits.FORK_SERVER_READY_S,
        answer_s: float = limits.FORK_SERVER_ANSWER_S,
        after_death: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._env = env
        self._folder = folder
        self._arguments = (target, log_level, "json" if json_logs else "text")
        self._ready_s = ready_s
        self._answer_s = answer_s
        self._after_death = after_death
        self._server: asyncio.Future[ForkLink] | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins the imports; `spawn` waits for them."""
        self._renew()
        self._keeping = asyncio.create_task(self._keep(), name="fork server")

    async def spawn(self, socket_path: str) -> ForkedChild:
        """A new process. Raises StartFailed."""
        try:
            async with asyncio.timeout(self._ready_s):
                while True:
                    server = await self._next()
                    with suppress(ServerGone):
                        return await self._ask(server, socket_path)
        except TimeoutError:
            raise StartFailed("the fork server was not ready in time") from None

    async def _ask(self, server: ForkLink, socket_path: str) -> ForkedChild:
        """One that does not answer is killed: the next may be better."""
        try:
            async with asyncio.timeout(self._answer_s):
                return await server.spawn(socket_path)
        except TimeoutError:
            _log.error("the fork server does not answer and is killed")
            server.kill()
            raise StartFailed("the fork server did not answer in time") from None

    async def pid(self) -> int:
        """Of the fork server, once it is ready."""
        return (await self._next()).process.pid

    async def _next(self) -> ForkLink:
        assert self._server is not None
        return await asyncio.shield(self._server)

    def _renew(self) -> None:
        """From now on, who wants a server waits for the next one."""
        if self._server is None or self._server.done():
            self._server = asyncio.get_running_loop().create_future()
            self._server.add_done_callback(seen)

    async def _keep(self) -> None:
        failures = 0
        while True:
            delays = limits.FORK_SERVER_DELAYS_S
            await asyncio.sleep(delays[min(failures, len(delays) - 1)])
            failures += 1
            try:
                server = await ForkLink.launch(
                    self._arguments, self._env, self._folder, when_lost=self._renew
                )
            except OSError as error:
                self._failed(StartFailed(f"the fork server cannot be started: {error}"))
                continue
            try:
                await self._came_up(server)
                await server.ended()
            except asyncio.CancelledError:
                await server.close()
                raise
            _log.error("the fork server ended", status=server.process.returncode)
            if server.has_served:
                failures = 0
            self._renew()
            if self._after_death is not None:
                await self._after_death()
            server.bury()

    def _failed(self, error: StartFailed) -> None:
        """Tells those who wait for it; who asks from now on waits for the next try."""
        assert self._server is not None
        _log.error("the fork server did not start", problem=str(error))
        self._server.set_exception(error)
        self._renew()

    async def _came_up(self, server: ForkLink) -> None:
        """Tells those who wait for it."""
        assert self._server is not None
        try:
            async with asyncio.timeout(self._ready_s):
                await asyncio.shield(server.is_ready)
        except StartFailed as error:
            self._failed(error)
        except TimeoutError:
            server.kill()
            self._failed(StartFailed("the fork server was not ready in time"))
        else:
            if not server.is_lost:  # it may be gone again by now
                self._server.set_result(server)

    async def close(self) -> None:
        """Ends the fork server and every process below it."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
