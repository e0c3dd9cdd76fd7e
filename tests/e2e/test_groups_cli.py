"""`trunkline person` and `trunkline group` against a running control plane."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import ADMIN, Control

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = Path(sys.executable).parent / "trunkline"


async def run(control: Control, *arguments: str) -> tuple[int, str]:
    """Exit code, and what was printed."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *(*arguments, "--url", control.url, "--token", ADMIN),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def made(control: Control, *arguments: str) -> Any:
    code, printed = await run(control, *arguments, "--json")
    assert code == 0, printed
    return json.loads(printed)


async def test_persons_and_groups_from_the_command_line(control: Control, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("You write.", encoding="utf-8")
    alice = await made(control, "person", "create", "alice", "--prompt", f"@{prompt}")
    assert alice["prompt"] == "You write."
    bob = await made(control, "person", "create", "bob")
    changed = await made(control, "person", "update", bob["id"], "--model", "small")
    assert changed["model"] == "small"
    group = await made(control, "group", "create", "team", "--person", "alice")
    assert group["persons"] == ["alice"]
    both = ["--person", bob["id"], "--person", "alice"]
    assert (await made(control, "group", "update", group["id"], *both))["persons"] == [
        "bob",
        "alice",
    ]
    assert [one["name"] for one in await made(control, "person", "list")] == ["bob", "alice"]
    code, printed = await run(control, "group", "create", "team")
    assert (code, "NAME_TAKEN" in printed) == (1, True)
    for kind, record in (("group", group), ("person", alice)):
        await made(control, kind, "delete", record["id"])
        code, printed = await run(control, kind, "show", record["id"])
        assert (code, "not found" in printed) == (1, True)
