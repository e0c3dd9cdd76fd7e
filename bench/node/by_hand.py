"""A program of another maker run by hand: the peer of a runtime. Of those here each turn is a line
on its input, and lasts until the first word of the answer on its output, then until its end."""

import json
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.budgets import SERVER_CORE
from bench.processes import StartError, pinned

Json = dict[str, Any]


class ByHand(ABC):
    """A program with one conversation."""

    @abstractmethod
    def turn_ms(self) -> float:
        """One turn; how long its first word took."""

    @abstractmethod
    def stop(self) -> None: ...


class LinesByHand(ByHand):
    """A process that speaks JSON lines."""

    def __init__(self, argv: list[str], folder: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=pinned(SERVER_CORE),  # as the system is that it is compared with
        )

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, wanted: Callable[[Json], object]) -> Json:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: Json = json.loads(line)
            if wanted(message):
                return message
        raise StartError("the program ended")


class ClaudeByHand(LinesByHand):
    """Claude Code with its stream of JSON lines."""

    def turn_ms(self) -> float:
        said = {"role": "user", "content": "hello"}
        began = time.monotonic()
        self.send({"type": "user", "message": said})
        self.until(_is_text_delta)
        took_ms = (time.monotonic() - began) * 1000
        self.until(lambda one: one.get("type") == "result")
        return took_ms


class AcpByHand(LinesByHand):
    """An ACP agent, in one session."""

    def open(self, folder: Path) -> "AcpByHand":
        self._number = 0
        self._ask("initialize", protocolVersion=1, clientCapabilities={})
        opened = self._ask("session/new", cwd=str(folder), mcpServers=[])
        self._session = opened["result"]["sessionId"]
        return self

    def _ask(self, method: str, **params: Any) -> Json:
        number = self._call(method, **params)
        return self.until(lambda one: one.get("id") == number and "method" not in one)

    def _call(self, method: str, **params: Any) -> int:
        self._number += 1
        call = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(call)
        return self._number

    def turn_ms(self) -> float:
        began = time.monotonic()
        words = [{"type": "text", "text": "hello"}]
        number = self._call("session/prompt", sessionId=self._session, prompt=words)
        self.until(_is_chunk)
        took_ms = (time.monotonic() - began) * 1000
        self.until(lambda one: one.get("id") == number and "method" not in one)
        return took_ms


def _is_text_delta(message: Json) -> bool:
    delta = (message.get("event") or {}).get("delta") or {}
    return delta.get("type") == "text_delta"


def _is_chunk(message: Json) -> bool:
    update = (message.get("params") or {}).get("update") or {}
    return update.get("sessionUpdate") == "agent_message_chunk"
