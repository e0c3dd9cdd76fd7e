"""The skills of a session, as a folder that Claude Code takes as a plugin.

The files are those of the machine's shared cache, fetched when they are missing; the folder of the
session only links to them.
"""

import shutil
from pathlib import Path

import msgspec
import structlog

from trunkline.execution.errors import ToolError
from trunkline.execution.skills.registry import SkillRegistry

_log = structlog.get_logger(__name__)

NAME = "trunkline"
_FOLDER = "claude-plugin"


async def plugin(skills: SkillRegistry, folder: Path) -> tuple[str, list[str]]:
    """The plugin's folder, empty when there are no skills; and what the session lacks."""
    made, problems = folder / _FOLDER, []
    shutil.rmtree(made, ignore_errors=True)
    found: dict[str, Path] = {}
    for entry in skills.available:
        try:
            found[entry.id] = await skills.load(entry.id)
        except ToolError as error:
            problems.append(error.message)
            _log.warning("a skill is not there", skill=entry.id, reason=error.message)
    if not found:
        return "", problems
    (made / ".claude-plugin").mkdir(parents=True)
    (made / "skills").mkdir()
    about = {"name": NAME, "version": "1.0.0", "description": "Skills of this session."}
    (made / ".claude-plugin" / "plugin.json").write_bytes(msgspec.json.encode(about))
    for name, target in found.items():
        (made / "skills" / name).symlink_to(target, target_is_directory=True)
    return str(made), problems
