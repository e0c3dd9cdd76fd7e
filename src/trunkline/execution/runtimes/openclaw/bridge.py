"""The bridge of one session: a Node.js process, as the daemon starts and ends it."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from trunkline import extras
from trunkline.execution.errors import StartFailed
from trunkline.execution.json_object import Json
from trunkline.execution.process.child import Exit
from trunkline.execution.process.family import kill_group
from trunkline.private_files import write_private

_log = structlog.get_logger(__name__)

_HERE = Path(__file__).parent
# In a wheel it lies beside us; in a checkout it is where `make bridge` puts it.
_PLACES = (_HERE / "bridge", _HERE.parents[4] / "bridge/openclaw/dist")
_LINE_CHARS_MAX = 500
GUARD = "trunkline-guard"
"""The name of a plugin of ours in the gateway, which asks before tools run."""


def command(node: str | None) -> tuple[str, ...]:
    """How a bridge is started. Raises StartFailed where a part of it is missing."""
    main = _built("main.js")
    if node is None or main is None:
        why = "OpenClaw's bridge is not built on this machine: make bridge"
        if node is None:
            why = f"Node.js is not installed on this machine: {extras.fix('runtimes')}"
        raise StartFailed(why, code="RUNTIME_UNAVAILABLE")
    return (node, str(main))


def write_guard(folder: Path) -> None:
    """The plugin that the gateway is to load, as a package that names our file: without a manifest
    it would not be loaded at the gateway's start. Without the bridge there is none."""
    manifest: Json = {
        "id": GUARD,
        "name": "Trunkline",
        "description": "Asks the session before a tool runs.",
        "activation": {"onStartup": True},
        "configSchema": {"type": "object", "additionalProperties": False},
    }
    entry: Json = {"extensions": ["./index.js"]}
    package: Json = {"name": GUARD, "version": "1.0.0", "type": "module", "openclaw": entry}
    write_private(folder / "openclaw.plugin.json", msgspec.json.encode(manifest))
    write_private(folder / "package.json", msgspec.json.encode(package))
    if (built := _built(f"{GUARD}.js")) is not None:
        named = msgspec.json.encode(built.as_uri()).decode()
        write_private(folder / "index.js", f"export {{ default }} from {named};\n".encode())


def _built(name: str) -> Path | None:
    return next((place / name for place in _PLACES if (place / name).is_file()), None)


class BridgeProcess:
    """A `Child`."""

    def __init__(self, process: asyncio.subprocess.Process, session_id: str) -> None:
        self.pid = process.pid
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._process = process
        self._session_id = session_id
        self._watching = asyncio.create_task(self._watch(), name="openclaw bridge")

    @classmethod
    async def start(cls, node: str | None, env: Mapping[str, str], folder: Path) -> "BridgeProcess":
        """Raises StartFailed."""
        argv = command(node)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=env,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise StartFailed(f"OpenClaw's bridge cannot be started: {error}") from error
        return cls(process, folder.name)

    def kill(self) -> None:
        if not self.ended.done():
            kill_group(self.pid)

    async def _watch(self) -> None:
        assert self._process.stderr is not None
        with suppress(ValueError):  # a line longer than any that tells something
            while line := await self._process.stderr.readline():
                said = line.decode("utf-8", "replace").strip()[:_LINE_CHARS_MAX]
                _log.warning("openclaw's bridge", session=self._session_id, said=said)
        while await self._process.stderr.read(65_536):
            pass
        status = await self._process.wait()
        kill_group(self.pid)  # servers that it had started, where it could not end them
        end = Exit(signal=-status) if status < 0 else Exit(exit_code=status)
        if not self.ended.done():
            self.ended.set_result(end)
