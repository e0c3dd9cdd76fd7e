"""What each runtime can do is said in its page, and the suite leaves out nothing else."""

import re

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


def test_the_page_says_of_every_runtime_what_it_can_do() -> None:
    assert set(table()) == {(one.name, promise) for one in RUNTIMES for promise in Promise}


@pytest.mark.parametrize("promise", Promise)
@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda one: one.name)
def test_what_a_runtime_cannot_do_is_in_the_page_with_its_reason(
    runtime: type[RuntimeDriver], promise: Promise
) -> None:
    reason = ABSENT.get((runtime.name, promise))
    assert table()[runtime.name, promise] == ("yes" if reason is None else f"no: {reason}")
