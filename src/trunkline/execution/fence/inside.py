"""A session's process confines itself, and has its commands started from a thread with less still.

Landlock and seccomp hold for a thread and for what it starts. So the process is confined while it
has one thread, right after it knows what it may; commands then come from a second thread, which has
given up the session's own folder too.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

import msgspec
import structlog

from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import (
    capabilities,
    groups,
    landlock,
    masks,
    profile,
    seccomp,
    words,
)
from trunkline.execution.fence.connects import Connects
from trunkline.execution.fence.profile import Profile
from trunkline.execution.fence.watch import Watch

_log = structlog.get_logger(__name__)

FILE_THREADS_MAX = 4  # for what file tools do; each is confined by itself

_A = TypeVarTuple("_A")
_R = TypeVar("_R")


def prepare() -> None:
    """What every session needs, made once by whoever forks them."""
    if (machine := seccomp.machine()) is not None:
        seccomp.session_filter(machine)
        seccomp.command_filter(machine, "open", keeps_sizes=landlock.abi() >= landlock.ABI_TRUNCATE)


def enter(allowed: Profile) -> "CommandThread | None":
    """Confines this process. Gives the thread for its commands; None where they need none. Raises
    StartFailed where a fence is required, or keeps the network, and cannot be had."""
    if allowed.temp:
        for folder in filter(None, (allowed.temp, allowed.received)):
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = allowed.temp
    os.environ.update(_caches(allowed.cache))
    _enter_group(allowed)
    try:
        if threading.active_count() > 1:
            raise OSError("it has threads already")
        profile.set_limits(allowed)
        if allowed.mounts is not None:
            masks.own(allowed)
            written = [*allowed.write, *allowed.mounts.private]
            allowed = msgspec.structs.replace(allowed, write=written)
        elif allowed.kind == "session":
            capabilities.drop()
        if allowed.kind == "program":
            if allowed.hidden:
                masks.mask(allowed.hidden, allowed.kept)
            if allowed.landlock_abi >= landlock.ABI_SCOPES:
                landlock.Ruleset(allowed.landlock_abi, files=False).apply()
            return None
        _own_rules(allowed).apply()
        if (machine := seccomp.machine()) is not None:
            seccomp.apply(seccomp.session_filter(machine, guards=_is_asked(allowed)))
    except OSError as error:
        why = f"the session could not be fenced in: {error}"
        is_told = bool(allowed.hidden) or allowed.mounts is not None
        if allowed.mode == "require" or allowed.network != "open" or is_told:
            raise StartFailed(why, code="FENCE_REQUIRED") from error
        _log.warning("no fence", problem=why)
        return None
    return CommandThread(allowed)


def _enter_group(allowed: Profile) -> None:
    """Without it, what it has is still watched."""
    if not allowed.group:
        return
    try:
        groups.enter(allowed.group)
    except OSError as error:
        why = f"the session could not enter its control group: {error}"
        if allowed.mode == "require":
            raise StartFailed(why, code="FENCE_REQUIRED") from error
        _log.warning("no control group", problem=why)


def _is_asked(allowed: Profile) -> bool:
    """Whether each `connect` of its commands is judged."""
    return allowed.network == "list" or bool(allowed.sockets)


def _own_rules(allowed: Profile) -> landlock.Ruleset:
    rules = _rules(allowed)
    rules.allow_writing(allowed.own)
    return rules


def _rules(allowed: Profile, *, ports: bool = False) -> landlock.Ruleset:
    rules = landlock.Ruleset(allowed.landlock_abi, ports=ports)
    rules.allow_reading([*allowed.read, *_modules(allowed)])
    rules.allow_reading([allowed.received, *allowed.granted], is_real=True)
    rules.allow_listing(["/dev"])
    rules.allow_devices(profile.devices())
    rules.allow_writing([*allowed.write, allowed.temp])
    return rules


def _modules(allowed: Profile) -> Iterator[str]:
    """Where this process imports from, but for a folder that holds sessions."""
    for path in sys.path:
        holds_sessions = f"{allowed.temp}/".startswith(f"{path.rstrip('/')}/")
        is_known = any(path.startswith(f"{one}/") for one in allowed.read)
        if path.startswith("/") and not holds_sessions and not is_known:
            yield path


def _caches(folder: str) -> dict[str, str]:
    """Where package managers keep what they fetch: the user's own is not theirs to write."""
    if not folder:
        return {}
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    return {
        "XDG_CACHE_HOME": folder,
        "npm_config_cache": f"{folder}/npm",
        "GOMODCACHE": f"{folder}/go-mod",
        "CARGO_HOME": f"{folder}/cargo",
    }


class CommandThread:
    """Starts programs, and touches files for tools, from threads that may do less than this
    process."""

    def __init__(self, allowed: Profile) -> None:
        self._allowed = allowed
        self._failure: OSError | None = None
        self._watch = Watch(allowed)
        self._connects = Connects(allowed) if _is_asked(allowed) else None
        self._thread = ThreadPoolExecutor(
            1, "commands", initializer=self._tried, initargs=(self._confine,)
        )
        self._files = ThreadPoolExecutor(
            FILE_THREADS_MAX, "files", initializer=self._tried, initargs=(self._confine_files,)
        )

    async def problem(self) -> str | None:
        """Looked for in a thread that is there already: a command may have taken all others."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._watch.problem)

    @property
    def limits_told(self) -> str:
        mounts = self._allowed.mounts
        return words.hint(self._allowed.network, mounts.private if mounts is not None else ())

    def _tried(self, confine: Callable[[], None]) -> None:
        try:
            confine()
        except OSError as error:
            self._failure = error

    def _confine_files(self) -> None:
        _rules(self._allowed).apply()

    def _confine(self) -> None:
        allowed = self._allowed
        _rules(allowed, ports=allowed.network == "list").apply()
        machine = seccomp.machine()
        if machine is None:
            return
        keeps_sizes = allowed.landlock_abi >= landlock.ABI_TRUNCATE
        packed = seccomp.command_filter(
            machine, allowed.network, keeps_sizes=keeps_sizes, sockets=bool(allowed.sockets)
        )
        if self._connects is None:
            seccomp.apply(packed)
        else:
            self._connects.answer(seccomp.apply_asking(packed))

    async def start(self, argv: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        """As `subprocess.Popen`. Raises OSError, also where the thread could not be confined."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._popen, list(argv), options)

    async def call(self, function: Callable[[*_A], _R], *arguments: *_A) -> _R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._files, self._called, partial(function, *arguments))

    def _called(self, function: Callable[[], _R]) -> _R:
        self._check()
        return function()

    def _check(self) -> None:
        if self._failure is not None:
            raise OSError(f"it cannot be fenced in: {self._failure}")

    def _popen(self, argv: list[str], options: dict[str, Any]) -> "subprocess.Popen[bytes]":
        self._check()
        if self._allowed.network == "list":
            options["env"] = _with_proxy(options.get("env") or {}, self._allowed.proxy)
        return subprocess.Popen(argv, **options)  # noqa: S603 - what an agent runs


def _with_proxy(env: Mapping[str, str], proxy: str) -> dict[str, str]:
    """Programs know it by these names, some in one spelling only."""
    kept = {name: value for name, value in env.items() if name.lower() != "no_proxy"}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        kept[name] = kept[name.upper()] = proxy
    return kept
