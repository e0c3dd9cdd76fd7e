"""What `make` gives to the programs that it starts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_what_python_compiled_is_kept_whatever_the_shell_says() -> None:
    given = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--silent", "--eval", "environment: ; @env", "environment"],
        cwd=ROOT,
        env=given | {"PYTHONDONTWRITEBYTECODE": "1", "KEPT": "as it was"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "KEPT=as it was" in done.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout
