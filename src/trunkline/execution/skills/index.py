"""The skill index: what `start_session` says of each skill, checked, whether this machine has what
it needs, and as the model reads it.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.texts import shortened

SKILL_FILES_NAMED_MAX = 8  # in one line of the index


def check_skill_requirements(skill_entry: Json, env: Mapping[str, str]) -> tuple[bool, list[str]]:
    """(satisfied, missing): a program that is not on the PATH, a variable that is empty."""
    missing = [
        f"binary:{name}"
        for name in _needed(skill_entry, "binaries")
        if not _is_program(name, env.get("PATH"))
    ]
    missing += [f"env:{name}" for name in needed_variables(skill_entry) if not env.get(name)]
    return not missing, missing


def lacks(skill_entry: Json, missing: list[str]) -> str:
    """Why a skill is not offered, for people."""
    return (
        f"The skill {skill_entry.get('name') or skill_entry.get('id')} lacks {', '.join(missing)}."
    )


def needed_variables(skill_entry: Json) -> list[str]:
    return _needed(skill_entry, "env_vars")


def _needed(skill_entry: Json, kind: str) -> list[str]:
    requires = skill_entry.get("requires")
    return _names(requires.get(kind)) if isinstance(requires, dict) else []


def _names(value: Any) -> list[str]:
    """The names in a list that came from outside."""
    if not isinstance(value, list):
        return []
    return [name for name in value if isinstance(name, str) and name][: limits.SKILL_REQUIRES_MAX]


def _is_program(name: str, path: str | None) -> bool:
    try:
        return shutil.which(name, path=path) is not None
    except ValueError:  # a NUL in the name
        return False


LATEST = "latest"
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f:]")
_HIDDEN_OR_ODD = re.compile(r"\A[.\s]|[.\s]\Z")


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


def is_file_name(text: str) -> bool:
    """A plain name, in letters of any script, that every file system takes and that leads nowhere
    else."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return False
    return text not in (".", "..") and 0 < size <= 255 and not _FORBIDDEN.search(text)


def is_folder_name(text: str) -> bool:
    """One that a skill's folder may have, with what is added to it for locks and versions."""
    fits = len(text) <= limits.ID_CHARS_MAX and len(text.encode(errors="replace")) <= 200
    return fits and is_file_name(text) and text != LATEST and not _HIDDEN_OR_ODD.search(text)


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
    shown = files[:SKILL_FILES_NAMED_MAX]
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
