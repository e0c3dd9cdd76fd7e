"""What each runtime can do is said in its page, and the suite leaves out nothing else."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from tests.runtimes.absent import ABSENT, PAGE, Promise
from tests.support.runtimes.acp import Codex, Copilot, Gemini, Goose, OpenCode
from tests.support.runtimes.claude_code import ClaudeCode
from tests.support.runtimes.driver import RuntimeDriver
from tests.support.runtimes.openclaw import OpenClaw
from tests.support.runtimes.semigraph import SemiGraph

RUNTIMES: list[type[RuntimeDriver]] = [
    *(SemiGraph, ClaudeCode, OpenCode, Copilot, Codex, Gemini, Goose, OpenClaw),
]
_SECTION = "## What each runtime can do"


def table() -> dict[tuple[str, str], str]:
    """Of the page: by runtime and promise, `yes` or `no: …`."""
    section = PAGE.read_text().partition(_SECTION)[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|") and not re.match(r"\|[ -]+\|", line)
    ]
    head, *rest = rows
    return {
        (name, row[0]): cell for row in rest for name, cell in zip(head[1:], row[1:], strict=True)
    }


def run() -> dict[str, set[Promise]]:
    """By runtime, what the tests of its module are about."""
    found: dict[str, set[Promise]] = {}
    for file in Path(__file__).parent.glob("test_*.py"):
        module = importlib.import_module(f"{__package__}.{file.stem}")
        if (runtime := getattr(module, "RUNTIME", None)) is None:
            continue
        for name, suite in inspect.getmembers(module, inspect.isclass):
            if name.startswith("Test"):
                tests = [test for _, test in inspect.getmembers(suite, inspect.isfunction)]
                marks = [mark for test in tests for mark in getattr(test, "pytestmark", [])]
                kept = {mark.args[0] for mark in marks if mark.name == "promise"}
                found.setdefault(runtime.name, set()).update(kept)
    return found


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda one: one.name)
def test_what_the_page_says_of_a_runtime_is_tested_of_that_runtime(
    runtime: type[RuntimeDriver],
) -> None:
    assert run()[runtime.name] == set(Promise)


def test_the_page_says_of_every_runtime_what_it_can_do() -> None:
    assert set(table()) == {(one.name, promise) for one in RUNTIMES for promise in Promise}


@pytest.mark.parametrize("promise", Promise)
@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda one: one.name)
def test_what_a_runtime_cannot_do_is_in_the_page_with_its_reason(
    runtime: type[RuntimeDriver], promise: Promise
) -> None:
    reason = ABSENT.get((runtime.name, promise))
    assert table()[runtime.name, promise] == ("yes" if reason is None else f"no: {reason}")
