"""What goes for good is named before it goes, and goes by a yes alone."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm_start
from tests.support.control import ADMIN, Control

pytestmark = pytest.mark.asyncio(loop_scope="module")

SKILL = "---\nname: greet\ndescription: Says hello.\n---\nHi.\n"


async def run(control: Control, *arguments: str) -> tuple[int, str]:
    """Exit code, and what was printed, in a place where nobody can be asked."""
    known = (*arguments, "--url", control.url, "--token", ADMIN)
    done = await asyncio.to_thread(warm_start.run, known, os.environ, Path.cwd())
    return done.returncode, done.stdout + done.stderr


async def made(control: Control, *arguments: str) -> Any:
    code, printed = await run(control, *arguments, "--json")
    assert code == 0, printed
    return json.loads(printed)


@pytest.mark.parametrize(
    ("make", "remove", "asked", "done"),
    [
        (
            ("agent", "create", "Kind writer"),
            ("agent", "delete", "Kind w"),
            "Delete the agent 'Kind writer'?",
            "deleted the agent 'Kind writer'",
        ),
        (
            ("person", "create", "alice"),
            ("person", "delete", "al"),
            "Delete the person 'alice', from every group too?",
            "deleted the person 'alice'",
        ),
        (
            ("group", "create", "team"),
            ("group", "delete", "te"),
            "Delete the group 'team', and close its conversations?",
            "deleted the group 'team'",
        ),
        (
            ("mcp", "add", "files", "--command", "mcp-files"),
            ("mcp", "delete", "fi"),
            "Delete the MCP server 'files'?",
            "deleted the MCP server 'files'",
        ),
        (
            ("memory", "add", "Deploys happen on Tuesdays"),
            ("memory", "delete", "deploys happen"),
            "Forget the memory 'Deploys happen on Tuesdays'?",
            "deleted the memory 'Deploys happen on Tuesdays'",
        ),
        (
            ("token", "create", "--name", "phone"),
            ("token", "revoke", "ph"),
            "Revoke the token 'phone', and cut what is connected with it?",
            "revoked the token 'phone'",
        ),
        (
            ("rule", "add", "allow", "bash(git status *)"),
            ("rule", "remove", "bash(git"),
            "Remove the rule 'bash(git status *)' (allow)?",
            "removed the rule 'bash(git status *)' (allow)",
        ),
        (
            ("machine", "schedule", "--name", "lap3"),
            ("machine", "revoke-token", "lap"),
            "Cut the line of the machine 'lap3', and end what it connects with?",
            "revoked what the machine 'lap3' could connect with",
        ),
        (
            (),
            ("machine", "terminate", "lap"),
            "Give the machine 'lap3' up for good?",
            "terminated the machine 'lap3'",
        ),
        (
            ("session", "create", "--title", "Old talk", "--machine", "this one"),
            ("session", "delete", "Old t"),
            "Remove the session 'Old talk' with all that was said?",
            "removed the session 'Old talk'",
        ),
        (
            ("skill", "import", "greet"),
            ("skill", "delete", "gre"),
            "Delete the skill 'greet' in all its versions?",
            "deleted the skill 'greet' in all its versions",
        ),
    ],
)
async def test_a_beginning_alone_removes_nothing_and_what_went_is_named(
    control: Control,
    tmp_path: Path,
    make: tuple[str, ...],
    remove: tuple[str, ...],
    asked: str,
    done: str,
) -> None:
    if make[:1] == ("session",):
        await made(control, "machine", "schedule", "--name", "this one")
    if make[:1] == ("skill",):
        (tmp_path / "greet").mkdir()
        (tmp_path / "greet" / "SKILL.md").write_text(SKILL)
        make = (*make[:2], str(tmp_path / "greet"))
    if make:
        await made(control, *make)
    code, said = await run(control, *remove)
    assert (code, said) == (1, f"error: {asked} Nobody can be asked here: say --yes\n")
    assert await run(control, *remove, "--yes") == (0, f"{done}\n")


async def test_one_version_of_a_skill_is_told_from_all_of_them(
    control: Control, tmp_path: Path
) -> None:
    (tmp_path / "SKILL.md").write_text(SKILL)
    imported = await made(control, "skill", "import", str(tmp_path))
    _, said = await run(control, "skill", "delete", imported["id"])
    assert "Delete one version of the skill 'greet' (" in said
    assert (await run(control, "skill", "delete", imported["id"], "--yes"))[0] == 0
