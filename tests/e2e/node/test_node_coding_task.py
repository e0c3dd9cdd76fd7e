"""A small task, as people give it: read, edit, run the tests, fix, commit, in a worktree of a real
repository, with a model whose context is far too small for all of it."""

import json
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control
from tests.support.git import committed, git
from tests.support.model_server import Failure, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.node import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODULES = 30
WINDOW = 16_000
SUMMARY = "Goal: every shape tells its area. Files: shapes/*.py. Open points: tests, commit."
TICKET = "SHAPES-4711"
_KNOWN = re.compile(r"The ticket is (\S+)\.")
THOUGHTS = "I look at each shape before I change one of them, as the tests say little. " * 9
CHECK = f"{sys.executable} -B -m unittest -q test_shapes"
_TEST = """\
import unittest
from shapes.shape_0 import area

class Areas(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(3, 4), 12)

unittest.main() if __name__ == "__main__" else None
"""


class Coder:
    """A model with a plan of one tool call a step, and words for each; it forgets what it is not
    told again."""

    def __init__(self, steps: list[ToolUse]) -> None:
        self._steps = steps
        self.summaries = 0
        self.largest = 0
        self.at_commit = ""
        """All that it was told when it wanted to commit."""

    def answer(self, request: ModelRequest) -> Turn:
        # Four characters of English are a token, roughly; JSON around them is generous.
        self.largest = max(self.largest, len(json.dumps(request.body)) // 4)
        if self.largest > 1.2 * WINDOW:
            return Turn(failure=Failure(kind="context_full"))
        told = str(request.messages)
        known = _KNOWN.search(told)
        said = known.group() if known else ""
        if "You write the summary" in request.system:
            self.summaries += 1
            return Turn(text=f"{SUMMARY} {said}")
        if not self._steps:
            return Turn(text="Areas are computed, the tests pass, and it is committed.")
        step = self._steps.pop(0)
        words = f"{said} {THOUGHTS}" if "ticket" in str(request.messages[-1]) else THOUGHTS
        if "git commit" in str(step.arguments):
            self.at_commit = told
            ticket = known.group(1) if known else "no ticket"
            command = step.arguments["command"].replace("TICKET", ticket)
            step = replace(step, arguments={"command": command})
        return Turn(text=words, tool_calls=[step])


def call(name: str, **arguments: Any) -> ToolUse:
    return ToolUse(name=name, arguments=arguments)


def plan() -> list[ToolUse]:
    reading = [call("read_file", path=f"shapes/shape_{number}.py") for number in range(MODULES)]
    wrong = {"old_text": "return None", "new_text": "return width + height"}
    right = {"old_text": "return width + height", "new_text": "return width * height"}
    return [
        call("list_files", recursive=True),
        call("read_file", path="TASK"),
        *reading[: MODULES // 2],
        call("bash", command=CHECK),
        call("search_files", query="return None"),
        call("edit_file", path="shapes/shape_0.py", **wrong),
        call("bash", command=CHECK),
        *reading[MODULES // 2 :],
        call("edit_file", path="shapes/shape_0.py", **right),
        call("bash", command=CHECK),
        call("write_file", path="CHANGES", content="Areas are computed.\n"),
        call("bash", command="git add -A && git commit -qm 'Areas are computed (TICKET)'"),
        call("bash", command="git log --oneline"),
    ]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "shapes"
    (folder / "shapes").mkdir(parents=True)
    for number in range(MODULES):
        lines = "".join(f"# shape {number} is like no other, line {line}\n" for line in range(60))
        module = folder / "shapes" / f"shape_{number}.py"
        module.write_text(f"{lines}def area(width, height):\n    return None\n")
    (folder / "test_shapes.py").write_text(_TEST)
    (folder / "TASK").write_text(f"The ticket is {TICKET}. Name it when you commit.\n")
    committed(folder)
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def world(tmp_path: Path, control: Control, project: Path) -> AsyncIterator[World]:
    env = {"TRUNKLINE_NODE_ROOTS": str(project.parent)}
    async with ModelServer() as model, World(control, model, tmp_path / "home", env) as world:
        yield world


async def test_a_coding_task_through_forty_calls_and_two_compactions(
    world: World, project: Path
) -> None:
    coder = Coder(plan())
    world.model.otherwise(coder.answer)
    config = {"context_window": WINDOW, "max_turns": 100}
    async with await world.session(agent=config, workspace=str(project), worktree=True) as talk:
        end = await talk.ask("Make the area of a shape work; the tests say how.")
        assert end.get("content") == "Areas are computed, the tests pass, and it is committed."
        calls = talk.events("tool_call_complete")
        assert len(calls) == len(plan()) >= 40
        checks = [one["result"] for one in calls if CHECK in str(one["tool_input"])]
        # A failing run is a result that the model reads, not a failed tool.
        assert [one.count("FAILED") for one in checks] == [1, 1, 0]
        failed = [one["result"] for one in calls if one["is_error"]]
        assert failed == []
        compactions = talk.events("context_compacted")
        assert len(compactions) >= 2
        assert all(one["after_tokens"] < one["before_tokens"] for one in compactions)
        # The model's own words are no outputs to clear: it sums up what it has said and done.
        hows = [one["how"] for one in compactions]
        assert "outputs" in hows
        assert hows.count("summary") == coder.summaries >= 1
        # What it read at the beginning it knows from its summary alone when it commits.
        assert "Name it when you commit" not in coder.at_commit
        assert SUMMARY in coder.at_commit
        assert calls[-1]["result"].splitlines()[0].endswith(f"Areas are computed ({TICKET})")
        within = coder.summaries
        await talk.user.ok("POST", f"/sessions/{talk.id}/compact")
        by_hand = await talk.until("context_compacted", len(compactions) + 1)
        assert (by_hand["how"], by_hand["by"], coder.summaries - within) == ("summary", "user", 1)
        await talk.ask("Is it done?")
        assert SUMMARY in str(world.model.requests[-1].messages)

        assert "return None" in (project / "shapes" / "shape_0.py").read_text()
        diff = await talk.user.ok("GET", f"/sessions/{talk.id}/diff")
        assert {one["path"] for one in diff["files"]} == {"CHANGES", "shapes/shape_0.py"}
        await talk.user.ok("POST", f"/sessions/{talk.id}/apply")
    assert "return width * height" in (project / "shapes" / "shape_0.py").read_text()
    assert (project / "CHANGES").read_text() == "Areas are computed.\n"
    assert git(project, "log", "--format=%s").splitlines() == ["first"]
