"""Whether this machine has what a skill needs (document 004 §8)."""

import shutil
from collections.abc import Mapping
from typing import Any

from trunkline import limits

Json = dict[str, Any]


def check_skill_requirements(skill_entry: Json, env: Mapping[str, str]) -> tuple[bool, list[str]]:
    """(satisfied, missing): a program that is not on the PATH, a variable that is empty."""
    requires = skill_entry.get("requires")
    wanted = requires if isinstance(requires, dict) else {}
    missing = [
        f"binary:{name}"
        for name in names(wanted.get("binaries"))
        if not _is_program(name, env.get("PATH"))
    ]
    missing += [f"env:{name}" for name in names(wanted.get("env_vars")) if not env.get(name)]
    return not missing, missing


def names(value: Any) -> list[str]:
    """The names in a list that came from outside."""
    if not isinstance(value, list):
        return []
    return [name for name in value if isinstance(name, str) and name][: limits.SKILL_REQUIRES_MAX]


def _is_program(name: str, path: str | None) -> bool:
    try:
        return shutil.which(name, path=path) is not None
    except ValueError:  # a NUL in the name
        return False
