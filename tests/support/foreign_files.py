"""A user's own files of Claude Code, Codex and opencode, as those programs really write them.

The samples are recordings of the programs against the scripted model server, without what is long
or names a machine; each has two questions, the second answered with a tool.
"""

import sqlite3
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "unit/execution/runtimes/foreign/golden"

CLAUDE_ID = "9783150c-9f45-43f4-b970-423f90f68e63"
CODEX_ID = "01a1e2bd-b1f7-7f91-be77-5ce6dba87c9d"
OPENCODE_ID = "ses_e1d42b135ffeBzDs2D9lFuYzu4"
STARTED = "Say hello to the terminal"
WENT_ON = "Please list the files"
ANSWER = "There are two files here."


def sample(name: str, folder: Path) -> str:
    """As it would be had the conversation been in that folder."""
    return (SAMPLES / name).read_text(encoding="utf-8").replace("FOLDER", str(folder))


def claude_code(home: Path, folder: Path, session_id: str = CLAUDE_ID) -> Path:
    """The project folder's name loses what is no letter or digit, as the program's own does."""
    name = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(folder))
    path = home / ".claude" / "projects" / name / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sample("claude-code.jsonl", folder).replace(CLAUDE_ID, session_id))
    return path


def codex(home: Path, folder: Path) -> Path:
    day = home / ".codex" / "sessions" / "2026" / "11" / "16"
    day.mkdir(parents=True, exist_ok=True)
    path = day / f"rollout-2026-11-16T05-04-05-{CODEX_ID}.jsonl"
    path.write_text(sample("codex.jsonl", folder))
    return path


def opencode(home: Path, folder: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(sample("opencode.sql", folder))
    database.close()
    return path
