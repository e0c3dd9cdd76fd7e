"""Where everything of one machine lives (docs/concepts/execution.md), closed to other users."""

import fcntl
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline.execution.errors import HomeBusy
from trunkline.execution.files import write_atomic
from trunkline.private_files import close_files, make_folder

_log = structlog.get_logger(__name__)

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


def is_session_id(text: str) -> bool:
    """Ids come from outside and become names of files: a plain name, and nothing else."""
    return _SESSION_ID.match(text) is not None


class Home:
    """The user's folder: `workspace` for people, `.semibot` for us."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.internal = root / ".semibot"
        self.config_file = self.internal / "config.json"
        self.joined_file = self.internal / "joined.json"
        """What this machine connects with, if it joined by a code. Secret."""
        self.lessons_file = self.internal / "windows.json"
        """What refusals taught about models' windows."""
        self.sessions = self.internal / "sessions"
        self.skills = self.internal / "skills"
        self.outbox = self.internal / "outbox"
        self.run = self.internal / "run"
        self.programs = self.internal / "programs"
        self.cache = self.internal / "cache"
        """What commands of all sessions fetch: packages, and nothing of any session's."""
        self.locks = self.internal / "locks"
        """Files that sessions lock against each other."""
        self.worktrees = self.internal / "worktrees"

    def make(self) -> None:
        """Creates what is missing, and closes to other users what is open to them. Raises
        NotPrivate where that cannot be done."""
        folders = [self.root, self.internal, self.sessions, self.skills, self.outbox, self.run]
        folders += [self.cache, self.locks]
        if not self.workspace.is_symlink():  # else it is a folder that somebody chose
            folders.insert(1, self.workspace)
        mended = [folder for folder in folders if make_folder(folder)]
        for path in [*mended, *close_files(self.internal), *close_files(self.run)]:
            _log.warning("was open to other users, and is closed to them now", path=str(path))

    def workspace_of(self, chosen: str) -> Path:
        """Where a session works that was given this folder, or none."""
        return Path(chosen) if chosen else self.workspace

    def session(self, session_id: str) -> Path:
        """A session's folder. Raises ValueError."""
        if not is_session_id(session_id):
            raise ValueError(f"not a session id: {session_id[:100]!r}")
        return self.sessions / session_id

    def is_session(self, path: Path) -> bool:
        """Whether it is a folder that `session` gives out; people put other things there too."""
        return path.parent == self.sessions and is_session_id(path.name) and path.is_dir()

    def write_config(self, **values: Any) -> None:
        """`config.json`, for people and programs to look at. Nothing secret goes in here."""
        text = msgspec.json.format(msgspec.json.encode(values), indent=2)
        write_atomic(self.config_file, text + b"\n")

    def claim(self) -> int:
        """Holds the home for this process, until it ends in whatever way. Raises HomeBusy."""
        handle = os.open(self.run / "daemon.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise HomeBusy(f"another daemon runs with the home {self.root}") from None
        return handle
