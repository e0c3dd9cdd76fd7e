"""What a command changed in its folder: looked at before and after, and told like any other change.

In a repository git says which files are not as they were committed; elsewhere the files are looked
at one by one, if they are few. What takes too long, or is too much, is left out: the command waits
for it. Whatever else happens in the folder meanwhile is told too. While a command runs in the
background, what has changed since the last look, and was told by nobody else, is told as its work:
before the next command, whenever the agent looks after it, and at the end of the turn.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog

from trunkline import limits, names
from trunkline.execution.beneath import open_beneath
from trunkline.execution.errors import GitFailed
from trunkline.execution.git import (
    Repository,
    View,
    config_of,
    make_view,
    repository_of,
)
from trunkline.execution.json_object import Json
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun
from trunkline.execution.tools.changes import tell_change

LOOK_S_MAX = 2.0  # before and after a command
SLOW_LOOKS_MAX = 2  # then this folder is not looked at any more
FILES_MAX = 2_000  # looked at one by one
KEPT_FILES_MAX = 64  # the newest, whose content is kept while a command runs
KEPT_FILE_BYTES_MAX = 64 * 1024
COMMITTED_BYTES_MAX = 8 * limits.MIB
SHOWN_FILE_BYTES_MAX = 1 * limits.MIB  # of a file whose diff is shown
SHOWN_MAX = 50  # with their diffs
TOLD_MAX = 500

_WATCHED = frozenset(("bash", "code_execution", names.ACCESS_TOOL))
_LOOKS_AFTER = frozenset(("bash_output", "bash_stop"))
_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".cache"))
_DEPTH_MAX = 16

_log = structlog.get_logger(__name__)


class _Seen(msgspec.Struct, frozen=True):
    """A file at one moment. `content` is None where it was not kept."""

    stamp: tuple[int, int, int, int]
    content: bytes | None = None


_Look = dict[str, _Seen]


class _Unattended(msgspec.Struct):
    """Commands in the background: how files were when they were last looked at, and the newest
    call, which tells what is changed from then on."""

    look: _Look
    run: ToolRun


class _TooMuch(Exception):
    """More files than are looked at."""


class Watch:
    """Of one session's folder. `place` holds what looking needs."""

    def __init__(self, workspace: Path, place: Path, look_s_max: float = LOOK_S_MAX) -> None:
        self._workspace = workspace.resolve()
        self._place = place
        self._look_s_max = look_s_max
        self._slow = 0
        self._repository: tuple[Repository, str] | None = None
        self._lock = asyncio.Lock()
        self._unattended: _Unattended | None = None

    async def run(self, tool: Tool, arguments: Json, run: ToolRun) -> ToolResult:
        """Runs the tool, and tells what a command that may change files has changed."""
        is_watched = tool.name in _WATCHED and tool.is_dangerous(arguments)
        if not is_watched or self._slow >= SLOW_LOOKS_MAX or self._lock.locked():
            result = await tool.run(arguments, self._listening(run))
            if tool.name in _LOOKS_AFTER:
                await self.catch_up(is_running=True)
            return result
        async with self._lock:
            view, before = await self._before()
            if before is not None:
                await self._tell_unattended(view, before)
            is_left = arguments.get("background") is True
            try:
                result = await tool.run(arguments, run)
            except asyncio.CancelledError:
                before = None  # whoever cancels does not wait for a look
                raise
            finally:
                if before is not None and not is_left:
                    await self._tell(view, before, run)
            if before is not None and is_left:
                self._unattended = _Unattended(before, run)
            return result

    async def catch_up(self, *, is_running: bool) -> None:
        """Tells what commands in the background have changed since the last look; the last time
        when none is running any more."""
        if self._unattended is None or self._slow >= SLOW_LOOKS_MAX or self._lock.locked():
            return
        async with self._lock:
            view, now = await self._before()
            if now is not None:
                await self._tell_unattended(view, now)
        if not is_running:
            self._unattended = None

    async def _tell_unattended(self, view: View | None, now: _Look) -> None:
        if (left := self._unattended) is not None:
            await self._tell(view, left.look, left.run, dict(now))
            left.look = now

    def _listening(self, run: ToolRun) -> ToolRun:
        """While commands run in the background, what other tools tell is not told again."""
        if self._unattended is None:
            return run

        def tell(event: Json) -> None:
            if event.get("type") in ("file_changed", "file_created"):
                self._known([str(event.get("path"))])
            run.event(event)

        return msgspec.structs.replace(run, event=tell)

    def _known(self, names: list[str]) -> None:
        if self._unattended is not None:
            self._unattended.look |= self._seen(names)

    async def _before(self) -> tuple[View | None, _Look | None]:
        began = time.monotonic()
        view: View | None = None
        try:
            async with asyncio.timeout(self._look_s_max):
                view = await self._view()
                look = await self._look(view)
        except (GitFailed, OSError, TimeoutError, _TooMuch) as error:
            look = None
            _log.info("what a command changes is not looked at", reason=str(error) or "too slow")
        is_slow = look is None or time.monotonic() - began > self._look_s_max
        self._slow = self._slow + 1 if is_slow else 0
        return view, look

    async def _tell(
        self, view: View | None, before: _Look, run: ToolRun, after: _Look | None = None
    ) -> None:
        try:
            async with asyncio.timeout(self._look_s_max):
                after = await self._look(view) if after is None else after
                # Back to what was committed, or gone.
                after |= await asyncio.to_thread(self._seen, [*(before.keys() - after.keys())])
                names = sorted(
                    name
                    for name in before.keys() | after.keys()
                    if _stamp(before.get(name)) != _stamp(after.get(name))
                )[:TOLD_MAX]
                committed = await self._committed(view, [one for one in names if one not in before])
                for number, name in enumerate(names):
                    old = before.get(name) or committed.get(name)
                    self._tell_one(run, name, old, after.get(name), number < SHOWN_MAX)
                self._known(names)
        except (GitFailed, OSError, TimeoutError, _TooMuch) as error:
            _log.info("what a command changed is not told", reason=str(error) or "too slow")

    def _tell_one(
        self, run: ToolRun, name: str, before: _Seen | None, after: _Seen | None, is_shown: bool
    ) -> None:
        was_there = before is not None and before.stamp != _GONE
        is_there = after is not None and after.stamp != _GONE
        if not was_there and not is_there:
            return
        old = before.content if before is not None and was_there else None
        new = self._content(name) if is_there else None
        is_known = is_shown and (old is not None) == was_there and (new is not None) == is_there
        if is_known:
            tell_change(run, name, old, new)
            return
        change = "modified" if was_there and is_there else "created" if is_there else "deleted"
        unknown = {"diff": "", "additions": 0, "deletions": 0}
        run.event({"type": "file_changed", "path": name, "change": change, **unknown})

    async def _view(self) -> View | None:
        """How the repository's files were, as the user's own git sees them now; None without."""
        if not _is_in_repository(self._workspace):
            return None
        if self._repository is None:
            repository = await repository_of(self._workspace)
            if repository is None:
                return None
            self._repository = repository, await config_of(repository)
        return await asyncio.to_thread(make_view, self._place, *self._repository)

    async def _look(self, view: View | None) -> _Look:
        if view is None:
            return await asyncio.to_thread(self._scan)
        names = await view.changed(self._workspace)
        return await asyncio.to_thread(self._seen, names)

    def _scan(self) -> _Look:
        return self._seen(list(_files(self._workspace)))

    def _seen(self, names: list[str]) -> _Look:
        stamps = {name: _stamp_of(self._workspace / name) for name in names}
        newest = sorted(names, key=lambda name: stamps[name][0], reverse=True)[:KEPT_FILES_MAX]
        kept = {name: self._content(name, KEPT_FILE_BYTES_MAX) for name in newest}
        return {name: _Seen(stamp, kept.get(name)) for name, stamp in stamps.items()}

    def _content(self, name: str, bytes_max: int = SHOWN_FILE_BYTES_MAX) -> bytes | None:
        try:
            handle, about = open_beneath(self._workspace, name)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            return file.read() if about.st_size <= bytes_max else None

    async def _committed(self, view: View | None, names: list[str]) -> _Look:
        """How files were that were as they had been committed. Those that were not there are left
        out; of others than the first it is only known that they were there."""
        if view is None or not names:
            return {}
        found: _Look = {}
        known = await view.indexed(self._workspace, names)
        shown = [name for name in known if "\n" not in name][:SHOWN_MAX]
        try:
            contents = await view.contents(self._workspace, shown, COMMITTED_BYTES_MAX)
        except GitFailed:
            contents = {}
        for name in known:
            found[name] = _Seen((1, 0, 0, 0), contents.get(name))
        return found


_GONE = (0, 0, 0, 0)


def _stamp(seen: _Seen | None) -> tuple[int, int, int, int] | None:
    return None if seen is None else seen.stamp


def _stamp_of(path: Path) -> tuple[int, int, int, int]:
    try:
        found = path.lstat()
    except OSError:
        return _GONE
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _is_in_repository(folder: Path) -> bool:
    """Without starting git, which decides."""
    return any((one / ".git").exists() for one in (folder, *folder.parents))


def _files(root: Path) -> Iterator[str]:
    """Plain files below a folder, but for those that programs keep for themselves."""
    count = 0
    waiting = [("", 0)]
    while waiting:
        prefix, depth = waiting.pop()
        with os.scandir(root / prefix) as entries:
            for entry in entries:
                name = f"{prefix}/{entry.name}" if prefix else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and depth < _DEPTH_MAX:
                        waiting.append((name, depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    count += 1
                    if count > FILES_MAX:
                        raise _TooMuch(f"more than {FILES_MAX} files")
                    yield name
