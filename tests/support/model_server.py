"""A scripted model server on loopback that speaks OpenAI's, Anthropic's and Google's real formats.

    async with ModelServer() as server:
        server.script(Turn(text="Hello"), Turn(tool_calls=[ToolUse(name="bash", …)]))
        … OPENAI_BASE_URL=server.openai_url, ANTHROPIC_BASE_URL=server.anthropic_url …
        … GOOGLE_GEMINI_BASE_URL=server.url …
        assert server.requests[0].prompt == "Hi"

`running_in_thread()` serves from a thread; `model_process.py` is a program of its own.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from aiohttp import web

from tests.support.model_formats import events, failure, whole
from tests.support.model_turns import Failure, Gate, Latch, ModelRequest, ToolUse, Turn

__all__ = [
    "Failure",
    "Gate",
    "Latch",
    "ModelRequest",
    "ModelServer",
    "ToolUse",
    "Turn",
    "running_in_thread",
]

Wanted = Callable[[ModelRequest], object]
Server = TypeVar("Server", bound=AbstractAsyncContextManager[Any])


class ModelServer:
    """Answers requests from its script and keeps them. The script may grow while it serves."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[ModelRequest] = []
        self.models: list[str] = []
        """What its list has, for every key but `wrong`; there is no list while it is empty."""
        self._port = port
        self._script: deque[Turn] = deque()
        self._by_prompt: list[tuple[Wanted, deque[Turn]]] = []
        self._otherwise: Callable[[ModelRequest], Turn] | None = None
        self._unknown: set[str] = set()
        self._runner: web.AppRunner | None = None

    def script(self, *turns: Turn) -> None:
        """Answers in this order, whoever asks."""
        self._script.extend(turns)

    def when(self, wanted: Wanted, *turns: Turn) -> None:
        """Answers in this order to requests like these; such scripts come before the general one,
        so that many sessions can talk at once."""
        self._by_prompt.append((wanted, deque(turns)))

    def otherwise(self, answer: Callable[[ModelRequest], Turn]) -> None:
        """Answers what no script answers, for ever."""
        self._otherwise = answer

    def does_not_know(self, *parameters: str) -> None:
        """From now on, requests with these parameters are refused by name."""
        self._unknown.update(parameters)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        return self.url

    async def __aenter__(self) -> "ModelServer":
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._serve("openai"))
        app.router.add_post("/v1/responses", self._serve("responses"))
        app.router.add_post("/v1/messages", self._serve("anthropic"))
        app.router.add_post("/v1beta/models/{model}:{method}", self._serve("gemini"))
        app.router.add_get("/v1/models", self._list)
        # A client that goes away cancels its handler: that is how a closed stream is seen.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        if not self.models:
            raise web.HTTPNotFound
        if "wrong" in request.headers.get("Authorization", ""):
            raise web.HTTPUnauthorized
        return web.json_response({"data": [{"id": name} for name in self.models]})

    def _serve(self, provider: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            headers = {name.lower(): value for name, value in request.headers.items()}
            assert request.transport is not None
            peer = request.transport.get_extra_info("peername")
            body = {**request.match_info, **await request.json()}
            seen = ModelRequest(provider, headers, body, peer)
            number = len(self.requests)
            self.requests.append(seen)
            try:
                response = await self._answer(request, seen, number)
            except (asyncio.CancelledError, ConnectionResetError):
                seen.disconnected.set()
                raise
            seen.finished.set()
            return response

        return handle

    async def _answer(
        self, request: web.Request, seen: ModelRequest, number: int
    ) -> web.StreamResponse:
        turn = self._turn_for(seen)
        if turn.gate is not None:
            await turn.gate.pass_through()
        if turn.failure is not None and not turn.failure_in_stream:
            status, body = failure(turn.failure, seen.provider)
            return web.Response(
                status=status,
                body=body,
                headers={"Content-Type": "application/json", **turn.failure.headers},
            )
        if not seen.is_streamed:
            return web.Response(body=whole(turn, seen, number), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        sent = 0
        for event in events(turn, seen, number):
            if isinstance(event, Gate):
                await event.pass_through()
                continue
            if turn.cut_after is not None and sent >= turn.cut_after:
                if not turn.cut_cleanly and request.transport is not None:
                    request.transport.abort()
                break
            await response.write(event)
            sent += 1
        return response

    def _turn_for(self, request: ModelRequest) -> Turn:
        for parameter in sorted(self._unknown & set(request.body)):
            message = f"Unrecognized request argument supplied: {parameter}"
            return Turn(failure=Failure(kind="bad_request", message=message, param=parameter))
        for wanted, turns in self._by_prompt:
            if turns and wanted(request):
                return turns.popleft()
        if self._script:
            return self._script.popleft()
        if self._otherwise is not None:
            return self._otherwise(request)
        message = f"the script has no answer to {request.prompt[:200]!r}"
        return Turn(failure=Failure(kind="bad_request", message=message))


@contextlib.contextmanager
def running_in_thread(server: Server) -> Iterator[Server]:
    """Serves from a thread with its own loop, for tests and benchmarks that block theirs."""
    up, stop = threading.Event(), Latch()

    async def serve() -> None:
        async with server:
            up.set()
            await stop.wait(timeout_s=24 * 3600.0)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        if not up.wait(10.0):
            raise RuntimeError("the model server did not start")
        yield server
    finally:
        stop.set()
        thread.join(10.0)
