"""Where everything of one machine lives (document 004 §6). Paths only; made private when made."""

import re
from pathlib import Path

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class Home:
    """The user's folder: `workspace` for people, `.semibot` for us."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.internal = root / ".semibot"
        self.config_file = self.internal / "config.json"
        self.sessions = self.internal / "sessions"
        self.skills = self.internal / "skills"
        self.outbox = self.internal / "outbox"
        self.run = self.internal / "run"

    def make(self) -> None:
        """Creates what is missing; what is ours is closed to other users."""
        for folder in (self.root, self.workspace):
            folder.mkdir(parents=True, exist_ok=True)
        for folder in (self.internal, self.sessions, self.skills, self.outbox, self.run):
            folder.mkdir(mode=0o700, exist_ok=True)

    def session(self, session_id: str) -> Path:
        """A session's folder. Ids come from outside: one that is no plain name is refused."""
        if not _SESSION_ID.match(session_id):
            raise ValueError(f"not a session id: {session_id[:100]!r}")
        return self.sessions / session_id
