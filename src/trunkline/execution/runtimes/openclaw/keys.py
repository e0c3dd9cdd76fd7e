"""How the gateway gets keys: by a file in memory, which is there only while the gateway reads it.

Not by its environment: the commands that an agent runs inherit that. Not by a file on a disk.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from trunkline.execution.errors import RequestFailed
from trunkline.execution.runtimes.openclaw.config import provider_name

MEMORY = Path("/dev/shm")  # noqa: S108 - in memory, and private below
_NO_KEY = "none"  # a server at a base URL of one's own may want none, but the gateway wants a text


class KeysFile:
    """One for each run of the gateway: a private folder, in which the file comes and goes."""

    def __init__(self, home: Path, memory: Path = MEMORY) -> None:
        """Raises RequestFailed where this machine has no file system in memory."""
        if not memory.is_dir():
            why = f"OpenClaw needs {memory} on this machine: keys are never written to a disk"
            raise RequestFailed("RUNTIME_UNAVAILABLE", why)
        remove_left(home, memory)
        self._folder = Path(tempfile.mkdtemp(prefix=_prefix(home), dir=memory))
        self.path = self._folder / "keys.json"

    @contextmanager
    def shown(self, keys: Mapping[str, str], providers: set[str]) -> Iterator[None]:
        """`providers`: those that the configuration names, with a key or without."""
        named = {provider_name(one): keys.get(one) or _NO_KEY for one in {*keys, *providers}}
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(named))
        try:
            yield
        finally:
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def remove_left(home: Path, memory: Path = MEMORY) -> None:
    """What a daemon of this home left that was killed; there is one daemon for a home."""
    for folder in memory.glob(f"{_prefix(home)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(home: Path) -> str:
    return f"trunkline-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}-"
