"""What `make` gives to the programs that it starts, and what it tells."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")

PYTHON = """\
#!/bin/sh
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *"$REFUSED"*) exit 3 ;;
esac
"""
STEPS = [
    "uv (it installs packages)",
    "Python packages (1.3 GB on the disk)",
    "the local model (0.1 GB)",
    "Trunkline",
]


def make(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    given = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--silent", *arguments],
        cwd=ROOT,
        env=given | env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_python_compiled_is_kept_whatever_the_shell_says() -> None:
    told = make(
        *("--eval", "environment: ; @env", "environment"),
        PYTHONDONTWRITEBYTECODE="1",
        KEPT="as it was",
    )
    assert "KEPT=as it was" in told.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in told.stdout


def test_run_starts_everything_as_up_does() -> None:
    *_, last = make("--dry-run", "run").stdout.splitlines()
    assert last == "exec .venv/bin/trunkline up"


@pytest.mark.parametrize(
    ("refused", "steps"), [("nothing", STEPS), ("requirements.lock", STEPS[:2])]
)
def test_an_installation_names_each_step_as_it_begins_and_says_how_long_it_took(
    tmp_path: Path, refused: str, steps: list[str]
) -> None:
    """With a Python that only makes environments; of a step that fails, the name stands last."""
    python, folder = tmp_path / "python", tmp_path / "environment"
    python.write_text(PYTHON)
    python.chmod(0o755)
    made = make(f"{folder}/.installed", f"VENV={folder}", f"PYTHON={python}", REFUSED=refused)
    told = [line[:54].strip() for line in made.stdout.splitlines()]
    assert told == [f"an environment in {folder}"[:52], *steps]
    is_done = [re.search(r"\d+ s$", line) is not None for line in made.stdout.splitlines()]
    assert is_done == [True] * (len(told) - 1) + [refused == "nothing"]
    assert (made.returncode == 0) is (refused == "nothing")


def test_what_is_built_is_named_too(tmp_path: Path) -> None:
    wanted = make("--dry-run", "--always-make", "install", f"VENV={tmp_path}").stdout
    _, *steps = re.findall(r"^printf '  %-52s' '(.+)'", wanted, re.MULTILINE)
    built = ["the bridge to OpenClaw", "the document of the API", "the client for TypeScript"]
    assert steps == [*STEPS, *built, "the page"]
