"""The skill index: what `start_session` says of each skill, checked, and as the model reads it.

The format of the prompt is that of document 004 §8.
"""

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.skills.requirements import needed_variables
from trunkline.execution.tools.excerpt import shortened

Json = dict[str, Any]

LATEST = "latest"
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f:]|\A[.\s]|[.\s]\Z|\Alatest\Z")


class SkillEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One skill that this session may use. `id` is its folder's name."""

    id: str
    name: str
    description: str
    version: str
    references: list[str]
    scripts: list[str]
    env_vars: list[str]


def parse_entry(given: Json) -> SkillEntry:
    """Raises ValueError, with a reason for people, for what cannot be used."""
    skill_id = given.get("id") or given.get("name")
    if not isinstance(skill_id, str) or not is_folder_name(skill_id):
        raise ValueError("its id is no folder name")
    inventory = given.get("file_inventory")
    inventory = inventory if isinstance(inventory, dict) else {}
    return SkillEntry(
        id=skill_id,
        name=_line(given.get("name"), limits.NAME_CHARS_MAX) or skill_id,
        description=_line(given.get("description"), limits.SKILL_DESCRIPTION_CHARS_MAX),
        version=_line(given.get("version"), limits.NAME_CHARS_MAX) or LATEST,
        references=_paths(inventory.get("reference_files")),
        scripts=_paths(inventory.get("script_files")),
        env_vars=needed_variables(given),
    )


def is_folder_name(text: str) -> bool:
    """A plain name, in letters of any script, that leads nowhere else."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return False
    fine = 0 < len(text) <= limits.ID_CHARS_MAX and size <= 200
    return fine and not _FORBIDDEN.search(text)


def prompt(entries: Iterable[SkillEntry], folder: Path) -> str:
    """What the system prompt says of skills; nothing when there are none."""
    skills = [_shown(entry, folder) for entry in entries]
    if not skills:
        return ""
    return "\n".join(
        [
            "<available_skills>",
            *skills,
            "</available_skills>",
            "",
            "当任务匹配某个技能时，先用 read_skill_file 工具读取对应的 SKILL.md 获取完整指南。",
            "如需执行技能中的脚本，使用 bash 工具运行。脚本位于技能目录的 scripts/ 下。",
        ]
    )


def _shown(entry: SkillEntry, folder: Path) -> str:
    path = escape(f"{folder / entry.id}/")
    files = ", ".join(["SKILL.md", *_some(entry.references, "文件"), *_scripts(entry.scripts)])
    return "\n".join(
        [
            f'  <skill name="{escape(entry.name)}" path="{path}">',
            f"    {escape(entry.description, quote=False)}",
            f"    文件: {escape(files, quote=False)}",
            "  </skill>",
        ]
    )


def _scripts(scripts: list[str]) -> list[str]:
    return scripts if len(scripts) < 2 else [f"scripts/({len(scripts)}个脚本)"]


def _some(files: list[str], unit: str) -> list[str]:
    shown = files[: limits.SKILL_FILES_NAMED_MAX]
    rest = len(files) - len(shown)
    return [*shown, f"…({rest}个{unit})"] if rest else shown


def _paths(value: Any) -> list[str]:
    """File names of an inventory: text for the prompt, nothing is opened by them."""
    if not isinstance(value, list):
        return []
    lines = (_line(path, limits.SKILL_PATH_CHARS_MAX) for path in value[: limits.SKILL_FILES_MAX])
    return [line for line in lines if line]


def _line(value: Any, chars_max: int) -> str:
    """One line of text, whatever was sent."""
    if not isinstance(value, str):
        return ""
    text = value.encode(errors="replace").decode()
    return shortened(" ".join(text.split()), chars_max)
