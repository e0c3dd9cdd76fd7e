"""A daemon for one session, played by a test: the real socket protocol, the real session process's
code, a scripted model server. Several processes may follow each other on one session folder."""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.clock import Clock
from tests.support.eventually import WAIT_S
from tests.support.model_server import ModelServer
from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.llm import lessons
from trunkline.execution.session import ipc
from trunkline.execution.session.semigraph_process import serve

Json = dict[str, Any]
ENDS = ("execution_complete", "execution_error")
MODEL = "gpt-scripted"
LINE_BYTES_MAX = 2 * limits.IPC_LINE_BYTES_MAX
ENV = {"PATH": os.environ["PATH"]}


class Daemon:
    """One session's daemon. `answers` holds what the control plane says to requests."""

    def __init__(self, root: Path, server: ModelServer, clock: Clock | None = None) -> None:
        self.home = Home(root)
        self.home.make()
        self.clock = clock
        self.answers: dict[str, Callable[[Json], Any]] = {
            "memory_search": lambda _: {},
            lessons.METHOD: lambda _: None,
        }
        self.events: list[Json] = []
        self.reports: list[ipc.FireAndForget] = []
        self.requests: list[ipc.Request] = []
        self.ready: ipc.Ready | None = None
        self.error: ipc.Error | None = None
        self.pongs = 0
        self.is_working = False
        self._server = server
        self._turns = 0
        self._seen = asyncio.Condition()
        self._tasks: list[asyncio.Task[Any]] = []
        self._processes: list[asyncio.Task[int]] = []
        self._writers: list[asyncio.StreamWriter] = []
        self.process: asyncio.Task[int]
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> "Daemon":
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._writers:
            writer.close()
        if self._processes:
            await asyncio.wait(self._processes, timeout=WAIT_S)
        for task in (*self._processes, *self._tasks):
            task.cancel()
        await asyncio.gather(*self._processes, *self._tasks, return_exceptions=True)

    async def start(
        self, *, turn_id: str | None = None, behind: ipc.Down | None = None, **config: Any
    ) -> "Daemon":
        """A new process for the session; returns when it is ready. `behind`: a message that comes
        right behind the first."""
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES_MAX)
        far_reader, far_writer = await asyncio.open_connection(sock=theirs, limit=LINE_BYTES_MAX)
        timing: dict[str, Any] = {}
        if self.clock is not None:
            clock = self.clock
            timing = {"clock": clock, "monotonic": clock, "sleep": clock.sleep}
        self.process = asyncio.create_task(serve(far_reader, far_writer, env=ENV, **timing))
        self._processes.append(self.process)
        await self.serve(reader, writer, turn_id=turn_id, behind=behind, **config)
        return self

    async def serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        turn_id: str | None = None,
        behind: ipc.Down | None = None,
        **config: Any,
    ) -> None:
        """Starts the session in whatever process is at the other end."""
        self.ready = None
        self._writer = writer
        self._writers.append(writer)
        self._tasks.append(asyncio.create_task(self._listen(reader)))
        agent_config = {"model": MODEL, **config.pop("agent_config", {})}
        config.setdefault("api_keys", {"openai": "sk-test", "anthropic": "sk-ant-test"})
        self.send(
            ipc.Start(
                session_id="s1",
                home=str(self.home.root),
                llm_config={"providers": self._providers()},
                agent_config=agent_config,
                turn_id=turn_id,
                **config,
            )
        )
        if behind is not None:
            self.send(behind)
        await self.until(lambda: self.ready is not None or self.error is not None)

    def hang_up(self) -> None:
        """The daemon's end of the socket closes, as when the daemon dies."""
        self._writer.close()

    def _providers(self) -> Json:
        return {
            "openai": {"base_url": self._server.openai_url},
            "anthropic": {"base_url": self._server.anthropic_url},
        }

    async def drop(self) -> int:
        """Hangs up, and waits for the process's end."""
        self.hang_up()
        return await asyncio.wait_for(self.process, WAIT_S)

    async def stop(self) -> int:
        self.send(ipc.Stop(reason="test"))
        return await asyncio.wait_for(self.process, WAIT_S)

    def send(self, message: ipc.Down) -> None:
        self._writer.write(ipc.line(message))

    def send_raw(self, data: bytes) -> None:
        self._writer.write(data)

    def say(self, message: str, **data: Any) -> str:
        """Returns the turn's id."""
        self._turns += 1
        turn_id = f"turn-{self._turns}"
        sent = ipc.UserMessageData(message=message, turn_id=turn_id, **data)
        self.send(ipc.UserMessage(data=sent))
        return turn_id

    async def ask(self, message: str, **data: Any) -> Json:
        """How the turn ended."""
        return await self.end(self.say(message, **data))

    def answer(self, request_id: str, confirmed: bool, answer: Any = None, **more: Any) -> None:
        data = {"request_id": request_id, "confirmed": confirmed, "answer": answer, **more}
        self.send(ipc.ApprovalResponse(data=data))

    async def until(self, good: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_S), self._seen:
            await self._seen.wait_for(lambda: bool(good()))

    async def event(self, kind: str, number: int = 0) -> Json:
        """The event of that type with that number, as soon as it is there."""
        try:
            await self.until(lambda: len(self.of_type(kind)) > number)
        except TimeoutError:
            raise AssertionError(f"no {kind} number {number}; seen: {self.events}") from None
        return self.of_type(kind)[number]

    async def end(self, turn_id: str) -> Json:
        try:
            await self.until(lambda: self.ends(turn_id))
        except TimeoutError:
            raise AssertionError(f"{turn_id} does not end; seen: {self.events}") from None
        return self.ends(turn_id)[0]

    def ends(self, turn_id: str) -> list[Json]:
        return [one for one in self.events if one["type"] in ENDS and one["turn_id"] == turn_id]

    def of_type(self, *kinds: str) -> list[Json]:
        return [one for one in self.events if one["type"] in kinds]

    @property
    def text(self) -> str:
        return "".join(one["content"] for one in self.of_type("text_chunk"))

    def reported(self, method: str) -> list[Json]:
        return [one.params for one in self.reports if one.method == method]

    async def settled(self) -> None:
        """Everything the process wrote so far has come: it answers in order."""
        before = self.pongs
        self.send(ipc.Ping())
        await self.until(lambda: self.pongs > before)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            await self._take(ipc.decode_up(line))

    async def _take(self, message: ipc.Up) -> None:
        async with self._seen:
            match message:
                case ipc.Ready():
                    self.ready = message
                case ipc.SseEvent(data=data):
                    self.events.append(json.loads(data))
                case ipc.Request():
                    self.requests.append(message)
                    self._tasks.append(asyncio.create_task(self._reply(message)))
                case ipc.FireAndForget():
                    self.reports.append(message)
                case ipc.Error():
                    self.error = message
                case ipc.Pong(working=working):
                    self.pongs += 1
                    self.is_working = working
            self._seen.notify_all()

    async def _reply(self, request: ipc.Request) -> None:
        answer = self.answers.get(request.method)
        unknown = ipc.ErrorBody(code="METHOD_NOT_FOUND", message=f"no {request.method}")
        said = unknown if answer is None else answer(request.params)
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, ipc.ErrorBody):
            self.send(ipc.Response(id=request.id, error=said))
        else:
            self.send(ipc.Response(id=request.id, result=said))
