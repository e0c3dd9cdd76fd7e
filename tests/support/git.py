"""git as a person runs it, for tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def committed(folder: Path) -> Path:
    """A repository of what is there, with one commit."""
    git(folder, "init", "-qb", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder
