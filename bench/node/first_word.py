"""From the model's first byte to the reader's first event, through the whole system.

A control plane, a daemon and a model server as processes; the model's first word is the time at
which it was written.
"""

import http.client
import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.budgets import SERVER_CORE, SERVER_START_S_MAX
from bench.processes import Server, StartError, free_port

_PROGRAM = str(Path(sys.executable).parent / "trunkline")
_ENDS = ("execution_complete", "execution_error")
_HIDDEN = ("TRUNKLINE_", "OPENAI_", "ANTHROPIC_", "VM_")


class System:
    """`trunkline up` with the bench's model, driven over REST."""

    def __init__(self, folder: Path, model_url: str, more: Mapping[str, str] | None = None) -> None:
        self._port = free_port()
        self._token = secrets.token_urlsafe(32)
        env = {name: text for name, text in os.environ.items() if not name.startswith(_HIDDEN)}
        env |= {
            "TRUNKLINE_PORT": str(self._port),
            "TRUNKLINE_DATA": str(folder / "data"),
            "TRUNKLINE_ADMIN_TOKEN": self._token,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "none",
            **(more or {}),
        }
        self._server = Server([_PROGRAM, "up"], folder, SERVER_CORE, env)
        self._server.wait_ready(f"http://127.0.0.1:{self._port}/healthz")

    def stop(self) -> None:
        self._server.stop()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, f"/api/v1{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise StartError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)

    def session(self, fields: dict[str, Any] | None = None) -> str:
        until = time.monotonic() + SERVER_START_S_MAX
        while not any(one["online"] for one in self.call("GET", "/machines")["items"]):
            if time.monotonic() > until:
                raise StartError(f"no machine came up: {self._server.log_tail()}")
            time.sleep(0.1)
        body = fields or {"agent_config": {"model": "gpt-bench"}}
        return str(self.call("POST", "/sessions", body)["id"])

    def stream(self, session_id: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        path = f"/api/v1/sessions/{session_id}/stream?last_event_id=0"
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        return connection.getresponse()


def measure(folder: Path, model_url: str, turns: int) -> list[float]:
    """Milliseconds, one for each turn."""
    system = System(folder, model_url)
    try:
        session_id = system.session()
        events = system.stream(session_id)
        return [_turn(system, session_id, events) for _ in range(turns)]
    finally:
        system.stop()


def _turn(system: System, session_id: str, events: http.client.HTTPResponse) -> float:
    system.call("POST", f"/sessions/{session_id}/messages", {"message": "hello"})
    took_ms = 0.0
    while line := events.readline():
        now = time.monotonic_ns()
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if event["type"] == "text_chunk" and not took_ms:
            took_ms = (now - int(event["content"].split(" ")[0])) / 1e6
        elif event["type"] == "execution_error":
            raise StartError(str(event))
        elif event["type"] in _ENDS:
            return took_ms
    raise StartError("the stream ended")
