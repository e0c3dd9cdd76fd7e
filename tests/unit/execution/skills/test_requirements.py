"""What a skill needs of its machine (document 004 §8)."""

from typing import Any

import pytest

from trunkline.execution.skills.index import check_skill_requirements

ENV = {"PATH": "/usr/bin:/bin", "SET": "x", "EMPTY": ""}


def test_a_machine_that_has_everything_satisfies() -> None:
    entry = {"requires": {"binaries": ["sh", "ls"], "env_vars": ["SET"]}}
    assert check_skill_requirements(entry, ENV) == (True, [])


@pytest.mark.proves("004-8-requires-binaries", "004-8-requires-env-vars")
def test_what_is_missing_is_named() -> None:
    entry = {"requires": {"binaries": ["sh", "no-such-program"], "env_vars": ["EMPTY", "UNSET"]}}
    missing = ["binary:no-such-program", "env:EMPTY", "env:UNSET"]
    assert check_skill_requirements(entry, ENV) == (False, missing)


def test_programs_are_looked_for_where_scripts_will_find_them() -> None:
    entry = {"requires": {"binaries": ["sh"]}}
    assert check_skill_requirements(entry, {"PATH": "/nowhere"}) == (False, ["binary:sh"])


@pytest.mark.parametrize(
    "requires", [None, [], "sh", {}, {"binaries": "sh"}, {"binaries": [1, None, ""]}]
)
def test_odd_requirements_are_none(requires: Any) -> None:
    assert check_skill_requirements({"requires": requires}, ENV) == (True, [])
    assert check_skill_requirements({}, ENV) == (True, [])


@pytest.mark.parametrize("name", ["a\0b", "../../bin/sh-not", "x" * 10_000])
def test_hostile_program_names_are_merely_missing(name: str) -> None:
    entry = {"requires": {"binaries": [name]}}
    assert check_skill_requirements(entry, ENV) == (False, [f"binary:{name}"])
