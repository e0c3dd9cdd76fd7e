"""A session's program with a script instead of a graph: the real socket, simple commands.

The fork server runs `main` as it runs the real one. A message's first word says what to do; what
it says of itself comes as events, so that tests wait for them.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from trunkline.execution.session import ipc

Json = dict[str, Any]


class Program:
    """One session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._start: ipc.Start
        self._config: Json = {}
        self._turn: str | None = None
        self._asked: dict[str, str] = {}
        self._is_working = False

    async def run(self) -> int:
        while line := await self._line():
            message = ipc.decode_down(line)
            match message:
                case ipc.Start():
                    self._opened(message)
                case ipc.Ping():
                    self._send(ipc.Pong(working=self._is_working))
                case ipc.Stop():
                    self._turn = None
                    self._event(type="stopped", reason=message.reason)
                    await self._writer.drain()
                    return 0
                case ipc.UserMessage():
                    self._turn = message.data.turn_id
                    self._do(*message.data.message.split(" ", 1))
                case ipc.Cancel():
                    if self._turn is not None:
                        self._end(cancelled=True)
                case ipc.ConfigUpdate():
                    self._config |= message.data
                case ipc.ApprovalResponse():
                    self._end(content=f"confirmed: {message.data['confirmed']}")
                case ipc.Progress():
                    self._event(type="thinking", content=message.message)
                case ipc.Response():
                    answer = {"result": message.result}
                    if message.error is not None:
                        answer = {"error": message.error.code, "message": message.error.message}
                    self._end(content=json.dumps(answer))
        return 0

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ConnectionError:
            return b""  # the daemon was killed

    def _opened(self, start: ipc.Start) -> None:
        self._start = start
        match start.agent_config.get("start"):
            case "crash":
                os._exit(9)
            case "refuse":
                self._send(ipc.Error(message="no room for me", code="SESSION_FAILED"))
                raise SystemExit(4)
            case "silent":
                return
        self._send(ipc.Ready(problems=[]))
        if start.turn_id is not None:
            self._turn = start.turn_id
            self._event(type="approval_request", request_id="r-1")

    def _do(self, word: str, rest: str = "") -> None:
        match word:
            case "crash":
                os._exit(int(rest or 7))
            case "raise":
                raise RuntimeError(rest)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                self._event(type="thinking", content="hanging")
                threading.Event().wait()  # the loop answers no ping any more
            case "long":
                self._writer.write(b"x" * int(rest) + b"\n")
            case "garbage":
                self._writer.write(b'{"type": "nothing we know"}\n')
            case "deaf":
                self._writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
                threading.Event().wait()
            case "orphans":
                self._leave_orphans(Path(rest))
            case "ask":
                self._event(type="approval_request", request_id="r-1")
            case "request":
                method, _, params = rest.partition(" ")
                self._send(ipc.Request(id="q-1", method=method, params=json.loads(params or "{}")))
            case "report":
                self._send(ipc.FireAndForget(method="usage_report", params={"model": rest}))
                self._end(content="reported")
            case "remember":
                memory = Path(self._start.home, ".semibot/sessions", self._start.session_id)
                (memory / "memory").mkdir(parents=True, exist_ok=True)
                (memory / "memory" / "scratchpad.md").write_text(rest)
                self._end(content="remembered")
            case "later":
                self._event(type="thinking", content=f"until {rest}")
                self._later = asyncio.create_task(self._wait_for(Path(rest)))
            case "wait":
                self._event(type="thinking", content="waiting")
            case "work" | "idle":
                self._is_working = word == "work"
                self._end(content=word)
            case "who":
                self._end(content=json.dumps(self._about()))
            case _:
                self._event(type="text_chunk", content=f"{word} {rest}".strip())
                self._end(content=f"{word} {rest}".strip())

    async def _wait_for(self, file: Path) -> None:
        while not file.exists():
            await asyncio.sleep(0.01)
        self._end(content="it is now")

    def _about(self) -> Json:
        return {
            "pid": os.getpid(),
            "parent": os.getppid(),
            "session": os.getsid(0),
            "keys": self._start.api_keys,
            "config": self._config,
            "session_config": self._start.session_config,
            "threads": threading.active_count(),
        }

    def _leave_orphans(self, pids: Path) -> None:
        """A child, a grandchild in a session of its own, and one whose parent is gone already."""
        script = (
            "setsid sleep 1000 & echo $! >> $0; "
            "(setsid sh -c 'echo $$ >> $0; exec sleep 1000' $0 &) ; "
            "echo $$ >> $0; exec sleep 1000"
        )
        subprocess.Popen(["sh", "-c", script, str(pids)])
        self._event(type="thinking", content="left")

    def _end(self, **fields: Any) -> None:
        self._event(type="execution_complete", **fields)
        self._turn = None

    def _event(self, **event: Any) -> None:
        if self._turn is not None:
            event["turn_id"] = self._turn
        self._send(ipc.SseEvent(data=json.dumps(event)))

    def _send(self, message: ipc.Up) -> None:
        self._writer.write(ipc.line(message))


def main(socket_path: str) -> None:
    async def run() -> int:
        reader, writer = await asyncio.open_unix_connection(socket_path, limit=2**24)
        return await Program(reader, writer).run()

    sys.exit(asyncio.run(run()))
