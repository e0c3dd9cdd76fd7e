"""What commands leave behind in a session's process: the dead go, the rest keeps its status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.execution.process import orphanage


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_dead_orphans_are_reaped_and_nobody_elses_exit_status_is_taken(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", orphanage.__name__, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "dead_is_left": False,
        "living_is_left": True,
        "exit_code": 7,
        "next_exit_code": 3,
    }
