"""Whether agents may work in one's home folder is asked once, at a terminal, and kept."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from trunkline.cli import home_folder

ASK = """
import sys
from pathlib import Path
from trunkline.cli import home_folder
print(home_folder.allowed(Path(sys.argv[1]), Path("home-of-ada")))
"""


def at_a_terminal(data: Path, typed: bytes) -> str:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        with subprocess.Popen(
            [sys.executable, "-c", ASK, str(data)], stdin=theirs, stdout=theirs, stderr=theirs
        ) as asked:
            asked.wait(60)
        return os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(("typed", "answer"), [(b"y\n", "True"), (b"\n", "False")])
def test_the_answer_is_kept(tmp_path: Path, typed: bytes, answer: str) -> None:
    data = tmp_path / "data"
    said = at_a_terminal(data, typed)
    assert "home-of-ada" in said
    assert said.strip().endswith(answer)
    assert home_folder.allowed(data, tmp_path) is (answer == "True")
    again = at_a_terminal(data, b"y\n")
    assert "home-of-ada" not in again
    assert again.strip().endswith(answer)


def test_without_a_terminal_nobody_is_asked_and_nothing_is_allowed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASK, str(tmp_path)]
    done = subprocess.run(command, input="y\n", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
    (tmp_path / home_folder.FILE).write_bytes(b"\xff")
    done = subprocess.run(command, input="y\n", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
