"""`kill -9` of a process that writes checkpoints, again and again."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
ROUNDS = 40


@pytest.mark.proves("004-3.3-atomic")
def test_after_every_kill_the_newest_checkpoint_opens(session_dir: Path) -> None:
    program = [sys.executable, "-m", f"{__package__}.killed_writer", str(session_dir), str(ROUNDS)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    # Every round went on where the one before was killed. Writers that found a torn line of
    # writes have said so before.
    assert int(done.stdout.splitlines()[-1]) >= ROUNDS
