"""The programs that an adapter drives: the user's own, with its login and its conversations, else
the one that came with the adapter. Found by name; nothing is started to find them."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs, versions
from trunkline.execution.runtimes.packages import PACKAGES

# Under the names that their users know.
_BINARIES = {"codex": "codex"}


def locate(name: str, home: Home, env: Mapping[str, str]) -> str:
    """Empty where there is none, or where nothing is driven."""
    package = PACKAGES[name]
    if not package.driven:
        return ""
    own = find_own(name, env)
    if own and not _is_older(own, package.version) and _can_start(own, env):
        return own
    return programs.driven_in(home.programs / name, package) or own


def find_own(name: str, env: Mapping[str, str]) -> str:
    """The user's own; empty where there is none."""
    found = shutil.which(_BINARIES[name], path=env.get("PATH", "")) if name in _BINARIES else None
    return str(Path(found).resolve()) if found else ""


def _is_older(program: str, version: str) -> bool:
    """Than the adapter can drive, by its package; who has no package is taken at his word."""
    said = versions.of_package(program)
    return said is not None and _number(said.version) < _number(version)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _can_start(program: str, env: Mapping[str, str]) -> bool:
    """A script for Node.js finds that by itself, or not."""
    has_node = shutil.which("node", path=env.get("PATH", "")) is not None
    return has_node or not programs.is_for_node(Path(program))
