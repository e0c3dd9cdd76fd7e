"""The machine's answers about a session's work: which files it changed, one of them, its worktree.

Only files that the session itself made or changed are given out, and only from its folder. Links
there may lead to what the fence keeps from it: none is followed.
"""

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.beneath import open_beneath
from trunkline.execution.errors import RequestFailed
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.session.changed_files import changed
from trunkline.execution.session.saved import SavedTurns, load_start
from trunkline.execution.worktrees import Worktrees

PART_BYTES_MAX = limits.SESSION_FILE_PART_BYTES_MAX

_Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]


class _Asked(msgspec.Struct, kw_only=True):
    session_id: _Id


class _AskedFile(_Asked, kw_only=True):
    path: Annotated[str, Meta(min_length=1, max_length=limits.FILE_PATH_CHARS_MAX)]
    offset: Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)] = 0
    length: Annotated[int, Meta(ge=0, le=PART_BYTES_MAX)] = PART_BYTES_MAX


class SessionAnswers:
    def __init__(self, home: Home, worktrees: Worktrees) -> None:
        self._home = home
        self._worktrees = worktrees
        self._methods: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "session.files": self._files,
            "session.file": self._file,
            "session.diff": self._diff,
            "session.apply": self._apply,
            "session.discard": self._discard,
        }

    def knows(self, method: str) -> bool:
        return method in self._methods

    async def answer(self, method: str, params: Json) -> Json:
        """Raises RequestFailed."""
        try:
            return await self._methods[method](params)
        except (msgspec.ValidationError, ValueError) as error:
            raise RequestFailed("INVALID_REQUEST", str(error)[:500]) from error

    async def _files(self, params: Json) -> Json:
        asked = msgspec.convert(params, _Asked)
        return {"files": await asyncio.to_thread(self._listed, asked.session_id)}

    def _listed(self, session_id: str) -> list[Json]:
        root = self._root(session_id)
        found: list[Json] = []
        if root is None:
            return found
        for path, change in changed(self._home.session(session_id)).items():
            try:
                handle, about = open_beneath(root, path, has_links=False)
            except FileNotFoundError:
                found.append({"path": path, "change": change, "size": None})
            else:
                os.close(handle)
                shown = {"path": path, "change": change, "size": about.st_size}
                found.append({**shown, "modified_at": about.st_mtime_ns // 1_000_000})
        return found

    async def _file(self, params: Json) -> Json:
        asked = msgspec.convert(params, _AskedFile)
        return await asyncio.to_thread(self._part, asked)

    def _part(self, asked: _AskedFile) -> Json:
        root = self._root(asked.session_id)
        if root is None or asked.path not in changed(self._home.session(asked.session_id)):
            raise RequestFailed("FILE_NOT_FOUND", asked.path)
        try:
            handle, about = open_beneath(root, asked.path, has_links=False)
            try:
                data = os.pread(handle, asked.length, min(asked.offset, about.st_size))
            finally:
                os.close(handle)
        except OSError as error:
            raise RequestFailed("FILE_NOT_FOUND", asked.path) from error
        return {"size": about.st_size, "data": base64.b64encode(data).decode()}

    async def _diff(self, params: Json) -> Json:
        return await self._worktrees.diff(self._checked(params))

    async def _apply(self, params: Json) -> Json:
        return await self._worktrees.apply(self._checked(params))

    async def _discard(self, params: Json) -> Json:
        session_id = self._checked(params)
        folder = self._home.session(session_id)
        if SavedTurns(folder).open:
            why = "a turn is under way in this session; cancel it first"
            raise RequestFailed("SESSION_BUSY", why)
        is_open = load_start(folder) is not None
        return await self._worktrees.discard(session_id, is_open=is_open)

    def _checked(self, params: Json) -> str:
        session_id = msgspec.convert(params, _Asked).session_id
        self._home.session(session_id)
        return session_id

    def _root(self, session_id: str) -> Path | None:
        """Where the session works; nowhere while nothing was said in it here."""
        start = load_start(self._home.session(session_id))
        if start is None:
            return None
        return self._home.workspace_of(start.workspace).resolve()
