"""Whether this machine has what a skill needs (document 004 §8)."""

import shutil
from collections.abc import Mapping
from typing import Any

from trunkline import limits

Json = dict[str, Any]


def check_skill_requirements(skill_entry: Json, env: Mapping[str, str]) -> tuple[bool, list[str]]:
    """(satisfied, missing): a program that is not on the PATH, a variable that is empty."""
    missing = [
        f"binary:{name}"
        for name in _needed(skill_entry, "binaries")
        if not _is_program(name, env.get("PATH"))
    ]
    missing += [f"env:{name}" for name in needed_variables(skill_entry) if not env.get(name)]
    return not missing, missing


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
