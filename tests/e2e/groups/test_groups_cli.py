"""`trunkline person` and `trunkline group` against a running control plane."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm_start
from tests.support.control import ADMIN, Control, TestUser
from tests.support.group import ScriptedGroup, of
from tests.support.sse import SseReader

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = Path(sys.executable).parent / "trunkline"
BOUND_S = 60


async def run(control: Control, *arguments: str) -> tuple[int, str]:
    """Exit code, and what was printed."""
    known = (*arguments, "--url", control.url, "--token", ADMIN)
    done = await asyncio.to_thread(warm_start.run, known, os.environ, Path.cwd())
    return done.returncode, done.stdout + done.stderr


async def made(control: Control, *arguments: str) -> Any:
    code, printed = await run(control, *arguments, "--json")
    assert code == 0, printed
    return json.loads(printed)


async def test_persons_and_groups_from_the_command_line(control: Control, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("You write.", encoding="utf-8")
    alice = await made(control, "person", "create", "alice", "--prompt", f"@{prompt}")
    assert alice["prompt"] == "You write."
    assert alice["confirm"] == "dangerous"
    bob = await made(control, "person", "create", "bob", "--confirm", "always")
    assert bob["confirm"] == "always"
    changed = await made(control, "person", "update", bob["id"], "--model", "small")
    assert changed["model"] == "small"
    group = await made(control, "group", "create", "team", "--person", "alice")
    assert [one["name"] for one in group["persons"]] == ["alice"]
    both = ["--person", bob["id"], "--person", "alice"]
    changed = await made(control, "group", "update", group["id"], *both)
    assert [one["name"] for one in changed["persons"]] == [
        "bob",
        "alice",
    ]
    assert [one["name"] for one in await made(control, "person", "list")] == ["bob", "alice"]
    code, printed = await run(control, "group", "create", "team")
    assert (code, "NAME_TAKEN" in printed) == (1, True)
    for kind, record in (("group", group), ("person", alice)):
        await made(control, kind, "delete", record["id"], "--yes")
        code, printed = await run(control, kind, "show", record["id"])
        assert (code, "not found" in printed) == (1, True)


async def logged(reader: SseReader, kind: str, count: int) -> None:
    """Waits until there are that many events of the type."""
    await reader.until(lambda one: len(of(one, kind)) == count, f"{kind} {count}")


async def test_a_chat_with_a_group_shows_each_answer_whole_under_its_name(user: TestUser) -> None:
    team = await ScriptedGroup.make(user, "ann", "ben", name="pair")
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *("chat", "hello", "--session", team.session),
        *("--url", user.control.url, "--token", user.token),
        stdout=asyncio.subprocess.PIPE,
    )
    ann, ben = team["ann"], team["ben"]
    async with asyncio.timeout(BOUND_S), team.reader() as reader:
        to_ann, to_ben = await ann.asked(), await ben.asked()
        # Each step is in the group's log before the next one is taken: they do interleave.
        for number, (person, asked) in enumerate(((ann, to_ann), (ben, to_ben), (ann, to_ann)), 1):
            await person.vm.text(asked["session_id"], f"{person.name} speaks {number} ")
            await logged(reader, "text_chunk", number)
        for number, (person, asked) in enumerate(((ben, to_ben), (ann, to_ann)), 1):
            await person.vm.event(asked["session_id"], type="execution_complete", content="…")
            await logged(reader, "person_complete", number)
        printed, _ = await process.communicate()
    await team.leave()
    assert process.returncode == 0
    assert printed.decode().splitlines() == [
        "ben: ben speaks 2 ",
        "ann: ann speaks 1 ann speaks 3 ",
    ]
