"""How a session's worktree was at the end of each of its turns, so that a copy can begin there.

Trees of git's in a folder of their own beside the worktree: nothing of it is in the user's
repository. Called by `worktrees`, which holds the session's lock.
"""

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import GitFailed
from trunkline.execution.files import load_json, save_json
from trunkline.execution.git import Repository, View, config_of, git, make_view

_log = structlog.get_logger(__name__)

TURNS_MAX = 1_000  # of one session, the newest
KEPT_BYTES_MAX = 512 * limits.MIB  # of one session; then no more turns are kept

BEGINNING = ""
"""In place of a turn's id: how a copy was when it was made."""
_OBJECTS = "objects"
_RECORD = "turns.json"


class Moment(msgspec.Struct, frozen=True):
    """`head`: the commit that was checked out. `tree`: all files, committed or not, but for those
    that are ignored."""

    head: str
    tree: str


class Kept(NamedTuple):
    moment: Moment
    view: View
    """Has what the moment is made of."""


class WorktreeTurns:
    """Of one session's worktree; `folder` holds them."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self._folder = folder
        self._repository = repository

    async def keep(self, turn_id: str) -> None:
        """Notes how it is now. Raises GitFailed."""
        if await asyncio.to_thread(_bytes_in, self._folder / _OBJECTS) > KEPT_BYTES_MAX:
            raise GitFailed(f"{KEPT_BYTES_MAX // limits.MIB} MiB of earlier turns are kept already")
        view = await self._view()
        tree = await view.written()
        moments = self._load()
        moments[turn_id] = Moment(await self._head(), tree)
        newest = dict(list(moments.items())[-TURNS_MAX:])
        save_json(self._folder / _RECORD, newest, "a worktree's turns")

    async def at(self, turn_id: str) -> Kept:
        """The end of that turn; where that is not known, the beginning of a copy, which has the
        turns of the other under other names, else now. Raises GitFailed."""
        moments = self._load()
        view = await self._view()
        if moment := moments.get(turn_id) or moments.get(BEGINNING):
            return Kept(moment, view)
        return Kept(Moment(await self._head(), await view.written()), view)

    async def _view(self) -> View:
        # Of a git that was ended in the middle: nobody else works here.
        (self._folder / "index.lock").unlink(missing_ok=True)
        config = await config_of(self._repository)
        return await asyncio.to_thread(make_view, self._folder, self._repository, config)

    async def _head(self) -> str:
        where = {
            "GIT_DIR": str(self._repository.own),
            "GIT_COMMON_DIR": str(self._repository.common),
        }
        return (await git("rev-parse", "HEAD", cwd=self._repository.top, env=where)).text

    def _load(self) -> dict[str, Moment]:
        file = self._folder / _RECORD
        return load_json(file, dict[str, Moment], "a worktree's turns") or {}


def _bytes_in(folder: Path) -> int:
    return sum(
        os.lstat(Path(place) / name).st_size
        for place, _, names in os.walk(folder)
        for name in names
    )
