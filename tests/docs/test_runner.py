"""What runs the examples: how a block is read, and when output is like what a page says."""

import os
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, commands
from tests.docs.matching import is_like
from tests.docs.shell import Shell
from tests.docs.terminals import Running, in_terminal
from tests.support.program import plain_environment

_ID = "01a1ddde-b459-746a-b452-9404b3c3894e"
_OTHER = "01a1e4e7-f15f-7278-baaa-98c154d1913f"


@pytest.mark.parametrize(
    ("printed", "page", "alike"),
    [
        ("a\nb\n", "a\nb", True),
        ("a\nb\n", "a", False),
        ("a\nb\nc\n", "a\n…\nc", True),
        ("a\nb\nc\n", "a\n…", True),
        ("a\n", "a\n…", True),
        ("ab\n", "a\n…", False),
        ("a\nc\n", "a\n…\nc", True),
        ("ac\n", "a\n…\nc", False),
        ("anything\n", "…", True),
        ("", "…", True),
        ("one two\n", "…two…", True),
        (f"session {_ID}\n", f"session {_OTHER}", True),
        ("session unknown\n", f"session {_OTHER}", False),
        ("name    state\n", "name  state", True),
        ("at 2026-11-16T15:33:49+00:00\n", "at 2027-01-01 00:00", True),
        ("took 1.52 s\n", "took 3 s", True),
        ("\x1b[1mbold\x1b[0m\n", "bold", True),
        ("a.c\n", "a.c", True),
        ("abc\n", "a.c", False),
    ],
)
def test_what_is_printed_is_compared_loosely(printed: str, page: str, alike: bool) -> None:
    assert is_like(printed, page) is alike


def test_a_block_is_read_with_its_options_wherever_it_stands() -> None:
    opening = '   ```python no-run="part of a file" exit=2'
    page = f"1. A\n\n{opening}\n   a = 1\n       b\n   ```\n\n```\nx\n```\n"
    first, second = blocks(page, "page.md")
    assert (first.where, first.language, first.text) == ("page.md:3", "python", "a = 1\n    b\n")
    assert first.options == {"no-run": "part of a file", "exit": "2"}
    assert (first.is_run, second.language, second.is_run) == (False, "", False)


def test_a_command_goes_on_behind_a_backslash_and_inside_of_quotes() -> None:
    text = "```console\n$ a \\\n  b\nsaid\n$ echo 'c\nd'\n$ e # it's fine\n```\n"
    found = commands(blocks(text, "page.md")[0])
    assert [(one.text, one.printed) for one in found] == [
        ("a \\\n  b", "said"),
        ("echo 'c\nd'", None),
        ("e # it's fine", None),
    ]


def test_a_shell_keeps_its_variables_and_folder_and_tells_exit_codes(tmp_path: Path) -> None:
    shell = Shell(tmp_path, tmp_path / "here", plain_environment())
    try:
        assert shell.run("export WORD=kept; mkdir below; cd below").code == 0
        assert shell.run("echo $WORD $(basename $PWD) >&2; false") == (1, "kept below\n")
        shell.save("note.txt", "saved")
        assert shell.run("cat note.txt").printed == "saved"
        assert shell.run("import os; print(os.environ['WORD'])", "python") == (0, "kept\n")
        assert shell.run("read line; echo $line", stdin="given") == (0, "given\n")
        assert (shell.here, shell.env["WORD"]) == (tmp_path / "here" / "below", "kept")
        assert shell.run("set -e\nfalse\necho never") == (1, "")
    finally:
        shell.close()


def test_a_program_runs_until_it_has_said_something_and_is_stopped(tmp_path: Path) -> None:
    text = "trap 'echo bye; exit 3' INT; echo up; while true; do sleep 0.05; done"
    running = Running(text, tmp_path, os.environ, tmp_path / "log")
    assert running.until(lambda said: said or None) == "up\n"
    assert (running.interrupt(), running.printed) == (3, "up\nbye\n")
    ended = Running("echo no", tmp_path, os.environ, tmp_path / "log")
    with pytest.raises(AssertionError, match="ended: no"):
        ended.until(lambda said: True if "up" in said else None)


async def test_what_a_person_types_waits_for_its_prompt_and_what_stands_above(
    tmp_path: Path,
) -> None:
    text = "read -p '> ' first; echo 'which?'; read -p 'answer> ' second; echo got $first $second"
    page = "> one\n…\nwhich?\nanswer> two\ngot one two"
    done = await in_terminal(text, page, tmp_path, os.environ)
    assert (done.code, done.printed.splitlines()[-1]) == (0, "got one two")
    with pytest.raises(AssertionError, match="got one two"):
        await in_terminal(text, page.replace("got one", "got three"), tmp_path, os.environ)
