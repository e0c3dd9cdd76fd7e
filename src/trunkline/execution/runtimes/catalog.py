"""What this machine can run: for each runtime whether it is usable, its version, why not, and the
command that installs it.

A look finds files and starts almost nothing: the version of a program is known from its package,
or was asked once and holds until its file changes.
"""

import importlib.util
import math
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

import msgspec

from trunkline import __version__, extras, names
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes import driven, programs, versions
from trunkline.execution.runtimes.versions import Said

NODE_MIN = (24, 16)
ASK_AGAIN_S = 30.0  # after a program has failed; twice as long each time
ASK_AGAIN_S_MAX = 1_800.0
_SEMIGRAPH_NEEDS = ("langgraph", "openai", "anthropic")

Ask = Callable[[tuple[str, ...]], Awaitable[Said]]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One runtime, or one program of a runtime that has several."""

    is_usable: bool
    version: str = ""
    reason: str = ""
    """Why it is not usable."""
    install: str = ""
    """The command that helps."""
    path: str = ""
    presets: dict[str, "Found"] = {}

    def told(self) -> Json:
        """As a heartbeat has it."""
        text: Json = {
            "usable": self.is_usable,
            "version": self.version or None,
            "reason": self.reason or None,
            "install": self.install or None,
        }
        if self.presets:
            text["presets"] = {name: one.told() for name, one in self.presets.items()}
        return text


def install_command(name: str, home: Path | None = None) -> str:
    """The one command that brings a program to a machine; without a home, to the one that
    `trunkline doctor` chooses."""
    where = "" if home is None else f" --home {shlex.quote(str(home))}"
    return f"trunkline doctor --install {name}{where}"


class _Known(msgspec.Struct, frozen=True):
    """What a program said last. `mark`: of its file then; `until`: when it is asked again."""

    mark: object
    said: Said
    until: float
    failures: int


class Catalog:
    """`known`: the runtimes that the daemon has. `ask`: a program for its version; it is asked
    again when its file has changed, and, less and less often, when it did not answer."""

    def __init__(
        self,
        known: Collection[str],
        home: Home,
        env: Mapping[str, str],
        *,
        ask: Ask = versions.quick,
        node_version: Callable[[], str] = versions.of_node,
        monotonic: Callable[[], float] = time.monotonic,
        is_home_named: bool = True,
    ) -> None:
        """`is_home_named`: in the commands that install something."""
        self._known = known
        self._home = home
        self._env = env
        self._ask = ask
        self._named_home = home.root if is_home_named else None
        self._node_version = node_version
        self._monotonic = monotonic
        self._said: dict[tuple[str, ...], _Known] = {}

    def first(self) -> dict[str, Found]:
        """Before anything was asked: what is there by its files."""
        return self._found({})

    async def look(self) -> dict[str, Found]:
        """Every runtime that there is, in order; those that the daemon lacks with a reason."""
        said = {}
        for name in programs.NAMES:
            if argv := programs.locate(name, self._home, self._env):
                does_the_work = driven.locate(name, self._home, self._env)
                said[name] = await self._version((does_the_work,) if does_the_work else argv)
        return self._found(said)

    def node(self) -> tuple[str, str]:
        """The version of the Node.js that scripts of other makers are run with, and what is wrong
        with it; either may be empty."""
        version = self._node_version()
        wanted = ".".join(map(str, NODE_MIN))
        if not version:
            return "", f"Node.js is not installed; OpenClaw needs {wanted} or later"
        number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        old = f"Node.js {version} is too old; OpenClaw needs {wanted} or later"
        return version, old if number < NODE_MIN else ""

    async def _version(self, argv: tuple[str, ...]) -> Said:
        mark = _mark(argv[-1])
        known = self._said.get(argv)
        if known is not None and known.mark != mark:
            known = None
        if known is not None and self._monotonic() < known.until:
            return known.said
        said = await self._ask(argv)
        failures = 0 if known is None else known.failures
        wait_s = min(ASK_AGAIN_S * 2**failures, ASK_AGAIN_S_MAX) if said.problem else math.inf
        self._said[argv] = _Known(mark, said, self._monotonic() + wait_s, failures + 1)
        return said

    def _found(self, said: Mapping[str, Said]) -> dict[str, Found]:
        made = {
            "semigraph": self._semigraph(),
            "openclaw": self._openclaw(said),
            "claude-code": self._program("claude-code", "Claude Code", said),
            "acp": self._acp(said),
        }
        added = {name: Found(is_usable=True) for name in self._known if name not in made}
        return {name: self._if_known(name, found) for name, found in made.items()} | added

    def _if_known(self, name: str, found: Found) -> Found:
        if name in self._known:
            return found
        reason = f"this version of the daemon has no {name} runtime"
        return Found(is_usable=False, version=found.version, reason=reason)

    def _semigraph(self) -> Found:
        absent = [name for name in _SEMIGRAPH_NEEDS if importlib.util.find_spec(name) is None]
        if not absent:
            return Found(is_usable=True, version=__version__)
        reason = f"not installed: {', '.join(absent)}"
        return Found(is_usable=False, reason=reason, install=extras.again())

    def _openclaw(self, said: Mapping[str, Said]) -> Found:
        found = self._program("openclaw", "OpenClaw", said)
        _, problem = self.node()
        if not problem:
            return found
        # The bridge to it is a program for Node.js, whoever has installed OpenClaw itself.
        fix = extras.fix("runtimes")
        return Found(is_usable=False, version=found.version, reason=problem, install=fix)

    def _acp(self, said: Mapping[str, Said]) -> Found:
        presets = {name: self._program(name, name, said) for name in names.ACP_PRESETS}
        if importlib.util.find_spec("acp") is None:
            reason = "the Python package agent-client-protocol is not installed"
            fix = extras.fix("runtimes")
            return Found(is_usable=False, reason=reason, install=fix)
        version = versions.of_python("agent-client-protocol")
        return Found(is_usable=True, version=version, presets=presets)

    def _program(self, name: str, shown: str, said: Mapping[str, Said]) -> Found:
        argv = programs.locate(name, self._home, self._env)
        install = install_command(name, self._named_home)
        if not argv:
            absent = f"{shown} is not installed"
            if own := driven.find_own(name, self._env):
                absent = f"{shown} is there ({own}), but not the adapter by which it is driven"
            return Found(is_usable=False, reason=absent, install=install)
        answer = said.get(name, Said())
        if answer.problem:
            reason = f"{argv[-1]} does not start: {answer.problem}"
            return Found(is_usable=False, reason=reason, install=install, path=argv[-1])
        return Found(is_usable=True, version=answer.version, path=argv[-1])


def _mark(path: str) -> object:
    """Changes when the file does."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size)
