"""The skills of a session: which it may use, what the model is told, and their files.

A package is loaded on first use, by whoever keeps them (`store.py`). Used by the prompt and by
`read_skill_file`; knows nothing of graphs.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.skills import index
from trunkline.execution.skills.index import (
    SkillEntry,
    check_skill_requirements,
    needed_variables,
)
from trunkline.execution.skills.store import Folders, SkillStore
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.text_files import inside, read_text

_TOOL_DETAILS_NAMED_MAX = 50  # names listed in a message for the model

SKILL_READ_CHARS_MAX = 100_000


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
        store: Folders | None = None,
    ) -> None:
        """`store`: who has their files; by default this process fetches them itself."""
        self.available: list[SkillEntry] = []
        self.unavailable: list[tuple[Json, list[str]]] = []
        self._folder = home.skills
        self._store: Folders = store or SkillStore(home, control)
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
        return await self._store.folder(entry)


def read_in(folder: Path, path: str) -> str:
    """A text file of a skill that is loaded. Raises ToolError."""
    file = inside(path, folder, [folder], "the skill's folder")
    text = Excerpt(SKILL_READ_CHARS_MAX, head_only=True)
    text.add(read_text(file, shortened(path, 200)))
    return str(text)
