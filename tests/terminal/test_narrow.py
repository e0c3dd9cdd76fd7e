"""Commands in a real terminal of 40 columns: what they say has the same words as in a pipe."""

import asyncio
import os
import shlex

import pytest
from rich.cells import cell_len

from tests.terminal.harness import PROGRAM, terminal

COLUMNS = 40


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help", 0),
        ("session list --help", 0),
        ("chat --runtime nonsense hello", 2),
        ("sesion list", 2),
        ("session list --state open", 2),
        ("session show", 2),
        ("session list", 1),  # there is no server
    ],
)
async def test_no_word_is_broken_and_no_line_too_wide(line: str, code: int) -> None:
    env = {"TRUNKLINE_DATA": "/nowhere", "COLUMNS": "200"}
    piped = await asyncio.create_subprocess_exec(
        *(str(PROGRAM), *shlex.split(line)),
        env={**env, "PATH": os.defpath},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await piped.communicate()
    assert piped.returncode == code
    opening = terminal(*shlex.split(line), env={"TRUNKLINE_DATA": "/nowhere"}, columns=COLUMNS)
    async with opening as screen:
        assert await screen.ended() == code
        shown = screen.text
    said, shown = (text.partition("Example:")[0] for text in (out.decode(), shown))
    assert shown.split() == said.split()
    assert max(map(cell_len, shown.splitlines())) <= COLUMNS
