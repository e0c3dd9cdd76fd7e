"""The files of skills on this machine: in the cache, or fetched into it.

The daemon keeps them for sessions that may only read the cache, and answers `local.skill`; a
process without a fence does it itself. One that asks gets a folder.
"""

import asyncio
from pathlib import Path
from typing import Any, Protocol

import structlog

from trunkline import limits
from trunkline.execution.errors import LockBusy, RequestFailed, SkillRefused, ToolError
from trunkline.execution.files import locked
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.line import SessionLine
from trunkline.execution.skills import index
from trunkline.execution.skills.index import LATEST, SkillEntry
from trunkline.execution.skills.packages import SkillCache, checked_files

_log = structlog.get_logger()

SKILL_LOCK_WAIT_S = 90.0  # for another process that fetches the same skill
METHOD = "local.skill"


class Folders(Protocol):
    """Where a skill's files are."""

    async def folder(self, entry: SkillEntry) -> Path:
        """Of that version, fetched if it is not here. Raises ToolError."""


class Asks(Protocol):
    async def request(self, method: str, **params: Any) -> Any: ...


class DaemonSkills:
    """As a session's process has them: the daemon fetches."""

    def __init__(self, control: Asks) -> None:
        self._control = control

    async def folder(self, entry: SkillEntry) -> Path:
        try:
            answer = await self._control.request(
                METHOD, skill_id=entry.id, name=entry.name, version=entry.version
            )
        except RequestFailed as error:
            raise ToolError(error.message) from error
        except (ConnectionError, TimeoutError) as error:
            raise ToolError(f"the skill {entry.name!r} is not to be had: {error}") from error
        return Path(answer["folder"])


class SessionSkills:
    """What the daemon answers to one session."""

    def __init__(self, home: Home, line: SessionLine, session_id: str) -> None:
        self._store = SkillStore(home, _OfSession(line, session_id))

    async def answer(self, params: Json, _tell: Any) -> Json:
        """Raises RequestFailed, with words for the model."""
        try:
            given = {"id": params.get("skill_id"), **params}
            entry = index.parse_entry(given)
        except ValueError as error:
            raise RequestFailed("INVALID_PARAMS", f"no skill: {error}") from error
        try:
            return {"folder": str(await self._store.folder(entry))}
        except ToolError as error:
            raise RequestFailed("SKILL_UNAVAILABLE", error.message) from error


class _OfSession:
    def __init__(self, line: SessionLine, session_id: str) -> None:
        self._line = line
        self._session_id = session_id

    async def request(self, method: str, **params: Any) -> Any:
        return await self._line.request(self._session_id, method, **params)


class SkillStore:
    """The cache, filled from the control plane."""

    def __init__(self, home: Home, control: Asks) -> None:
        self._cache = SkillCache(home)
        self._control = control

    async def folder(self, entry: SkillEntry) -> Path:
        try:
            # One of several processes that ask at once fetches; the others find it here.
            async with locked(self._cache.lock_file(entry.id), SKILL_LOCK_WAIT_S):
                return await self._cached_or_fetched(entry)
        except LockBusy as error:
            reason = "another session has been fetching it for too long"
            raise ToolError(f"the skill {entry.name!r} is not here: {reason}") from error

    async def _cached_or_fetched(self, entry: SkillEntry) -> Path:
        found = self._cache.find(entry.id, entry.version)
        if found is not None:
            self._cache.show(entry.id, found)
            return found
        package = await self._fetch(entry)
        try:
            version = _sent_version(package, entry.version)
            files = checked_files(package)
            folder = await asyncio.to_thread(self._cache.store, entry.id, version, files)
        except SkillRefused as error:
            raise ToolError(f"the skill {entry.name!r} is refused: {error}") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise ToolError(f"the skill {entry.name!r} cannot be stored: {reason}") from error
        _log.info("skill fetched", skill=entry.id, version=version, files=len(files))
        return folder

    async def _fetch(self, entry: SkillEntry) -> Any:
        try:
            answer = await self._control.request(
                "get_skill_package", skill_id=entry.id, version=entry.version
            )
        except (ConnectionError, TimeoutError) as error:
            raise ToolError(self._away(entry)) from error
        except RequestFailed as error:
            raise ToolError(
                f"the skill {entry.name!r} is not to be had: {error.message}"
            ) from error
        package = answer.get("package") if isinstance(answer, dict) else None
        if package is None:
            raise ToolError(f"the control plane has no skill {entry.name!r}")
        return package

    def _away(self, entry: SkillEntry) -> str:
        here = ", ".join(self._cache.versions(entry.id))
        rest = f" Here is version {here}, wanted is {entry.version}." if here else ""
        return (
            f"the skill {entry.name!r} is not on this machine yet, and the control plane cannot be "
            f"reached at the moment.{rest}"
        )


def _sent_version(package: Any, wanted: str) -> str:
    """The version that came. Raises SkillRefused when it is another than was asked for."""
    sent = package.get("version") if isinstance(package, dict) else None
    if not isinstance(sent, str) or not 0 < len(sent) <= limits.NAME_CHARS_MAX:
        return wanted
    if wanted not in (LATEST, sent):
        raise SkillRefused(f"version {wanted} was asked for and version {sent} came")
    return sent
