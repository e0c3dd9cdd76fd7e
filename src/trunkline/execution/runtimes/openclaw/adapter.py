"""The OpenClaw runtime as the daemon sees it: a bridge process, and the memory that it leaves."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.files import write_atomic
from trunkline.execution.json_object import Json
from trunkline.execution.process.child import Child, Failure
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.runtimes.openclaw.config import agent_id, session_key
from trunkline.execution.runtimes.openclaw.gateway import Gateway
from trunkline.execution.runtimes.openclaw.preparing import prepared
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess

BRIDGE_STOP_S = 5.0
MEMORY = "openclaw-memory"
MEMORY_FILES_MAX = 200
MEMORY_BYTES_MAX = 2 * limits.MIB  # of a snapshot

StartBridge = Callable[[Mapping[str, str], Path], Awaitable[Child]]
"""With these variables, in that folder. Raises StartFailed."""


class OpenClawAdapter(SessionProcess):
    """What OpenClaw knows of a conversation stays in the gateway's folder on this machine; what it
    wrote down as memory travels with a snapshot."""

    def __init__(
        self,
        gateway: Gateway,
        start_bridge: StartBridge,
        skills: Path,
        env: Mapping[str, str],
        sockets: SocketFolder,
        patience: Patience,
        folder: Path,
        on_message: Callable[[ipc.Up], None],
        on_ended: Callable[[Failure], None],
    ) -> None:
        """`env`: what the gateway's commands will find."""
        self._env = env
        self._start_bridge = start_bridge
        self._skills = skills
        patience = msgspec.structs.replace(patience, stop_s=BRIDGE_STOP_S)

        def ended(failure: Failure) -> None:
            gateway.forget(self._session_id)
            on_ended(failure)

        super().__init__(self._bridge, sockets, patience, folder, on_message, ended)

    async def start(self, config: ipc.Start) -> ipc.Ready:
        told, problems = await asyncio.to_thread(prepared, config, self._env)
        ready = await super().start(told)
        return ipc.Ready(problems=[*problems, *ready.problems])

    async def get_snapshot(self) -> Json:
        memory = await asyncio.to_thread(_read, self._folder / MEMORY)
        return {
            "runtime_type": "openclaw",
            "session_id": self._folder.name,
            "session_key": session_key(agent_id(self._folder.name)),
            "memory": memory,
        }

    async def restore(self, snapshot: Json) -> None:
        memory = snapshot.get("memory")
        if isinstance(memory, dict):
            await asyncio.to_thread(_write, self._folder / MEMORY, memory)

    async def _bridge(self, socket_path: str) -> Child:
        memory = self._folder / MEMORY
        memory.mkdir(mode=0o700, parents=True, exist_ok=True)
        added = {
            "SOCKET_PATH": socket_path,
            "SESSION_ID": self._session_id,
            "SKILLS_CACHE_DIR": str(self._skills),
            "MEMORY_DIR": str(memory),
        }
        return await self._start_bridge(added, self._folder)


def _read(folder: Path) -> dict[str, str]:
    """Notes in Markdown, as far as there is room; whatever else lies there stays here."""
    found: dict[str, str] = {}
    room = MEMORY_BYTES_MAX
    for file in sorted(folder.rglob("*.md"))[:MEMORY_FILES_MAX]:
        if not file.is_file() or file.is_symlink() or file.stat().st_size > room:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        room -= len(text.encode())
        found[file.relative_to(folder).as_posix()] = text
    return found


def _write(folder: Path, memory: Json) -> None:
    """It comes over the network: plain paths below the folder, and nothing else."""
    root = folder.resolve()
    for name, text in list(memory.items())[:MEMORY_FILES_MAX]:
        file = root / str(name)
        inside = file.resolve().is_relative_to(root) and ".." not in file.parts
        if inside and file.suffix == ".md" and isinstance(text, str) and not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(file, text.encode()[:MEMORY_BYTES_MAX])
