"""Child processes that run a machine: started apart, watched, stopped with all they started.

A child gets a process group of its own, an environment of known names only, and is tied to this
process (`parent_death`): it ends when this process ends. What it prints goes to the log, line by
line (`process_output`).
"""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.machines.process_output import note
from trunkline.control.redaction import redact
from trunkline.log_form import one_line

_VM_OUTPUT_DRAIN_S = 1.0  # how long output is still read after a VM's process has ended
_VM_STOP_GRACE_S = 5.0  # between SIGTERM and SIGKILL

_log = structlog.get_logger()

_PARENT_DEATH = Path(__file__).with_name("parent_death.py")
_READ_BYTES = 64 * 1024
_LAST_LINES = 3

# What a program needs to run here. Everything else of the control plane's environment (its own
# settings, database addresses, API keys) stays out of reach of what an agent may run.
_KEPT = (
    *("PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("VIRTUAL_ENV", "LD_LIBRARY_PATH", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"),
)


# Where programs of other makers keep what is their user's: logins, settings, conversations.
_AT_HOME = (
    *("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
)


def scrubbed(env: Mapping[str, str], home: Path | None = None) -> dict[str, str]:
    """The part of an environment that a child may have. `home`: another one than the operator's,
    with nothing of theirs."""
    kept = _KEPT if home is not None else (*_KEPT, *_AT_HOME)
    found = {name: env[name] for name in env if name in kept or name.startswith("LC_")}
    return found if home is None else {**found, "HOME": str(home)}


class Child:
    """One running program and everything it started."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        output: asyncio.StreamReader,
        pipe: asyncio.ReadTransport,
        machine_id: str,
    ) -> None:
        self._process = process
        self._output = output
        self._pipe = pipe
        self._machine_id = machine_id
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._ended = asyncio.create_task(self._watch())

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str], folder: Path, machine_id: str
    ) -> "Child":
        """Starts the program; Unavailable when this machine cannot."""
        tied = (sys.executable, "-I", "-S", str(_PARENT_DEATH), str(os.getpid()))
        # A pipe of our own: with asyncio's, waiting for the program would also wait for
        # everything it started that still holds its output open.
        readable, writable = os.pipe()
        output, pipe = await _reader(readable)
        try:
            await asyncio.to_thread(folder.mkdir, 0o700, parents=True, exist_ok=True)
            process = await asyncio.create_subprocess_exec(
                *tied,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writable,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(env),
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            pipe.close()
            raise Unavailable(f"cannot start {command[0]!r}: {error.strerror}") from error
        except BaseException:
            pipe.close()
            raise
        finally:
            os.close(writable)  # the reader ends when the last holder of the other copy does
        return cls(process, output, pipe, machine_id)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> str:
        """Waits for the end and says how it came about."""
        # A caller that is cancelled stops waiting; the watch goes on.
        return await asyncio.shield(self._ended)

    async def stop(self, grace_s: float = _VM_STOP_GRACE_S) -> None:
        """SIGTERM, then SIGKILL for what is left after the grace; returns when all is over."""
        # Once the program is gone, its number may be another's.
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_s):
                await self.ended()
        except TimeoutError:
            if self._process.returncode is None:
                self._signal(signal.SIGKILL)
            await self.ended()

    async def _watch(self) -> str:
        reading = asyncio.create_task(self._read())
        try:
            code = await self._process.wait()
            # The group outlives its leader: what the program started must not stay behind.
            self._signal(signal.SIGKILL)
            # What left the group lives on, and may hold the pipe open for as long as it likes.
            async with asyncio.timeout(_VM_OUTPUT_DRAIN_S):
                await reading
        except TimeoutError:
            _log.warning("vm left a process behind that holds its output", machine=self._machine_id)
        finally:
            reading.cancel()
            self._pipe.close()  # not every event loop does this by itself at the end of a pipe
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        return f"{how}: {' | '.join(self._last)}" if self._last and code != 0 else how

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    async def _read(self) -> None:
        rest = b""
        try:
            while piece := await self._output.read(_READ_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._note(line)
                # A line without an end is cut, not gathered.
                rest = rest[: limits.VM_OUTPUT_LINE_BYTES_MAX]
        finally:
            self._note(rest)

    def _note(self, line: bytes) -> None:
        said = note(line, self._machine_id)
        if said:
            self._last.append(one_line(redact(said))[:200])


async def _reader(readable: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(_READ_BYTES)
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(readable, "rb", 0)
    )
    return reader, pipe
