"""Commands in a real terminal of 40 columns: what they say has the same words as in a pipe."""

import asyncio
import json
import os
import shlex
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.terminal.harness import CTRL_C, PROGRAM, terminal

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


def words(shown: str) -> str:
    return " ".join(shown.split())


async def test_a_server_a_backup_and_a_machine_that_joins_break_their_lines_between_words(
    tmp_path: Path,
) -> None:
    """Each says a sentence that is wider than its terminal."""
    data, home = tmp_path / "data", tmp_path / "home"
    home.mkdir()
    env = {"TRUNKLINE_DATA": str(data), "HOME": str(home)}
    started = ("up", "--no-machine", "--port", "0", "--host", "0.0.0.0", "--no-browser")
    async with terminal(*started, env=env, columns=COLUMNS) as server:
        greeting = "put a TLS proxy in front where you do not trust all of them."
        await server.until(lambda text: greeting in words(text))
        async with terminal("backup", "b.tar", env=env, columns=COLUMNS, cwd=tmp_path) as saving:
            assert await saving.ended() == 0, saving.text
            assert "It holds the keys and every secret of the system: keep it" in words(saving.text)
        made = await asyncio.create_subprocess_exec(
            *(str(PROGRAM), "machine", "add", "--json"),
            env={**env, "PATH": os.defpath},
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await made.communicate()
        node, *joining = shlex.split(json.loads(out)["command"])[1:]
        elsewhere = tmp_path / "else where"
        joining += ["--home", str(elsewhere)]
        async with terminal(node, *joining, env=env, columns=COLUMNS) as machine:
            told = await machine.until("trunkline node install --home")
            assert "What this machine connects with is kept in" in words(told)
            # A line to be copied has no break of ours in it.
            shown = f"trunkline node --home '{elsewhere}'"
            await machine.until(lambda text: shown in text.replace("\n", ""))
            machine.type(CTRL_C)
            await machine.ended()
        server.type(CTRL_C)
        await server.ended()
