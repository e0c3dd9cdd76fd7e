"""OpenClaw run by hand: its gateway with one agent, spoken to as its own clients do. Nothing of
ours is in it, neither the plugin that asks before tools nor a bridge."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from bench.budgets import SERVER_CORE
from bench.node.by_hand import ByHand, Json
from bench.processes import StartError, free_port, pinned
from trunkline.execution.llm.routes import Routes
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.openclaw import config
from trunkline.execution.runtimes.openclaw.gateway_process import GATEWAY_START_S, environment
from trunkline.execution.runtimes.openclaw.keys import KeysFile

_LOOK_S = 0.25
_FRAME_BYTES_MAX = 32 * 1024 * 1024
_TURN_S_MAX = 60.0
_TOKEN = "by-hand"


class OpenClawByHand(ByHand):
    """A gateway in a folder of its own, and one connection to it."""

    def __init__(
        self, program: Sequence[str], url: str, key: str, folder: Path, env: Mapping[str, str]
    ) -> None:
        """`url`: of the model. Raises StartError."""
        port = free_port()
        self._ids = itertools.count(1)
        self._stack = contextlib.ExitStack()
        keys = {"openai": key}
        wanted = config.Wanted(
            session_id="by-hand",
            workspace=str(folder),
            memory_dir=str(folder / "memory"),
            model="gpt-bench",
            tools_url="",
        )
        routes = Routes(keys, {"providers": {"openai": {"base_url": url}}}, {})
        self._agent = config.agent_of(wanted, routes, keys)
        for name in ("memory", "skills", "state"):
            (folder / name).mkdir()
        with contextlib.ExitStack() as stack:
            file = KeysFile(folder)
            stack.callback(file.remove)
            stack.enter_context(file.shown(keys, {"openai"}))
            settings = folder / "openclaw.json"
            settings.write_text(json.dumps(_settings(self._agent, port, file.path, folder)))
            node = programs.node() or ""
            self._process = subprocess.Popen(
                [*program, "gateway"],
                cwd=folder,
                env=environment(env, settings, folder / "state", node),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=pinned(SERVER_CORE),
            )
            stack.callback(self._end)
            self._ready(port)
            address = f"ws://127.0.0.1:{port}"
            self._socket = stack.enter_context(connect(address, max_size=_FRAME_BYTES_MAX))
            self._hear()  # the challenge; on loopback the token is enough
            self._call("connect", _GREETING)
            self._stack = stack.pop_all()

    def stop(self) -> None:
        self._stack.close()

    def turn_ms(self, words: str = "hello") -> float:
        """One turn; how long its first word took."""
        began = time.monotonic()
        number = next(self._ids)
        said = {
            "message": words,
            "agentId": self._agent.id,
            "sessionKey": config.session_key(self._agent.id),
            "idempotencyKey": f"turn-{number}-{time.monotonic_ns()}",
            "deliver": False,
        }
        self._send(number, "agent", said)
        took_ms = 0.0
        while True:
            frame = self._hear()
            if _is_text(frame) and not took_ms:
                took_ms = (time.monotonic() - began) * 1000
            elif _answers(frame, number):
                if not took_ms:
                    raise StartError(f"no word came: {frame}")
                return took_ms

    def _ready(self, port: int) -> None:
        until = time.monotonic() + GATEWAY_START_S
        while time.monotonic() < until and self._process.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2),
            ):
                return
            time.sleep(_LOOK_S)
        raise StartError("OpenClaw's gateway did not come up")

    def _call(self, method: str, params: Json) -> None:
        number = next(self._ids)
        self._send(number, method, params)
        while not _answers(self._hear(), number):
            pass

    def _send(self, number: int, method: str, params: Json) -> None:
        frame = {"type": "req", "id": str(number), "method": method, "params": params}
        self._socket.send(json.dumps(frame))

    def _hear(self) -> Json:
        try:
            frame: Json = json.loads(self._socket.recv(timeout=_TURN_S_MAX))
        except ConnectionClosed as error:
            raise StartError("OpenClaw's gateway ended") from error
        return frame

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_GREETING: Json = {
    "minProtocol": 4,
    "maxProtocol": 4,
    "client": {"id": "gateway-client", "version": "1", "platform": "linux", "mode": "backend"},
    "role": "operator",
    "scopes": ["operator.read", "operator.write", "operator.admin"],
    "caps": ["tool-events", "thinking-events"],
    "auth": {"token": _TOKEN},
}


def _settings(agent: config.Agent, port: int, keys_file: Path, folder: Path) -> Json:
    """As a machine's gateway has them, without what serves our sessions alone."""
    built = config.build(
        [agent],
        port=port,
        token=_TOKEN,
        keys_file=str(keys_file),
        skills=str(folder / "skills"),
        log_file=str(folder / "gateway.log"),
        guard="",
    )
    plugins: dict[str, Any] = {
        "allow": ["memory-core", "openai"],
        "entries": {"memory-core": {"enabled": True}},
    }
    return {**built, "plugins": {**plugins, "load": {"paths": []}}, "mcp": {"servers": {}}}


def _answers(frame: Json, number: int) -> bool:
    """The answer to that request; one of a turn is said to be accepted first. Raises StartError."""
    if frame.get("type") != "res" or frame.get("id") != str(number):
        return False
    if frame.get("ok") is not True:
        raise StartError(f"OpenClaw's gateway refused: {frame.get('error')}")
    return bool((frame.get("payload") or {}).get("status") != "accepted")


def _is_text(frame: Json) -> bool:
    payload = frame.get("payload") or {}
    is_answer = frame.get("event") == "agent" and payload.get("stream") == "assistant"
    return is_answer and bool((payload.get("data") or {}).get("text"))
