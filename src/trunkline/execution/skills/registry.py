"""The skills of a session: which it may use, what the model is told, and their files.

Loads a package on first use, from the cache or from the control plane. Used by the prompt and by
`read_skill_file`; knows nothing of graphs.
"""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.errors import LockBusy, RequestFailed, SkillRefused, ToolError
from trunkline.execution.files import locked
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.skills import index
from trunkline.execution.skills.index import (
    LATEST,
    SkillEntry,
    check_skill_requirements,
    needed_variables,
)
from trunkline.execution.skills.packages import SkillCache, checked_files
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.text_files import inside, read_text

_TOOL_DETAILS_NAMED_MAX = 50  # names listed in a message for the model

_log = structlog.get_logger()

SKILL_READ_CHARS_MAX = 100_000
SKILL_LOCK_WAIT_S = 90.0  # for another process that fetches the same skill


class SkillRegistry:
    """`unavailable` pairs an entry with what is missing on this machine; those are not offered.
    `secrets`: values that no program is given, so that a skill that needs one is not offered."""

    def __init__(
        self,
        skill_index: list[Json],
        home: Home,
        control: ControlPlane,
        env: Mapping[str, str],
        secrets: Collection[str] = (),
    ) -> None:
        self.available: list[SkillEntry] = []
        self.unavailable: list[tuple[Json, list[str]]] = []
        self._folder = home.skills
        self._cache = SkillCache(home)
        self._control = control
        entries = [one for one in skill_index[: limits.SKILL_INDEX_MAX] if isinstance(one, dict)]
        # What scripts will find is what counts, not what this process has.
        needed = {name for given in entries for name in needed_variables(given)}
        for_scripts = scrubbed(env, keep=needed, secrets=secrets)
        for given in entries:
            self._sort_in(given, for_scripts)

    def _sort_in(self, given: Json, env: Mapping[str, str]) -> None:
        satisfied, missing = check_skill_requirements(given, env)
        if not satisfied:
            self.unavailable.append((given, missing))
            return
        try:
            self.available.append(index.parse_entry(given))
        except ValueError as error:
            self.unavailable.append((given, [str(error)]))

    def prompt(self) -> str:
        return index.prompt(self.available, self._folder)

    def env_vars(self) -> set[str]:
        """The variables that offered skills need, and that their scripts are therefore given."""
        return {name for entry in self.available for name in entry.env_vars}

    def find(self, skill: str) -> SkillEntry:
        """By id or by name. Raises ToolError for a skill that is not offered."""
        for entry in self.available:
            if skill in (entry.id, entry.name):
                return entry
        for given, missing in self.unavailable:
            if skill in (given.get("id"), given.get("name")):
                raise ToolError(f"the skill cannot be used here; missing: {', '.join(missing)}")
        offered = ", ".join(entry.name for entry in self.available[:_TOOL_DETAILS_NAMED_MAX])
        raise ToolError(
            f"there is no skill {shortened(skill, 100)!r}; there are: {offered or 'none'}"
        )

    async def load(self, skill: str) -> Path:
        """The folder of a skill in the version of this session, fetched if it is not here. The
        folder that the prompt names may be shared with a session of another version."""
        entry = self.find(skill)
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


def read_in(folder: Path, path: str) -> str:
    """A text file of a skill that is loaded. Raises ToolError."""
    file = inside(path, folder, [folder], "the skill's folder")
    text = Excerpt(SKILL_READ_CHARS_MAX, head_only=True)
    text.add(read_text(file, shortened(path, 200)))
    return str(text)


def _sent_version(package: Any, wanted: str) -> str:
    """The version that came. Raises SkillRefused when it is another than was asked for."""
    sent = package.get("version") if isinstance(package, dict) else None
    if not isinstance(sent, str) or not 0 < len(sent) <= limits.NAME_CHARS_MAX:
        return wanted
    if wanted not in (LATEST, sent):
        raise SkillRefused(f"version {wanted} was asked for and version {sent} came")
    return sent
