"""What `make test` does with a test that fails: a few are run once more, and none is forgotten."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import every_test

ROOT = Path(__file__).parents[1]
UNSTEADY = """
import pathlib
def test_unsteady():
    seen = pathlib.Path("seen")
    was_there = seen.exists()
    seen.touch()
    assert was_there
"""


def whole(folder: Path, tests: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(f"def test_good():\n    pass\n{tests}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.every_test", "-n", "2", "--dist=loadfile", "-m", ""],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_what_fails_once_passes_the_run_and_is_named_in_the_last_line(tmp_path: Path) -> None:
    code, out = whole(tmp_path, UNSTEADY)
    assert code == 0, out
    assert out.splitlines()[-1].strip() == "test_it.py::test_unsteady"


def test_what_fails_again_alone_fails_the_run(tmp_path: Path) -> None:
    code, out = whole(tmp_path, f"{UNSTEADY}\ndef test_bad():\n    raise ValueError\n")
    assert code == 1
    assert out.count("FAILED test_it.py::test_bad") == 2
    assert "to be mended" not in out


@pytest.mark.parametrize(
    "tests",
    [
        "import pytest\n"
        f"@pytest.mark.parametrize('n', range({every_test.FEW_MAX + 1}))\n"
        "def test_many(n): assert 0\n",
        "raise ValueError\n",
    ],
    ids=["many", "not to be read"],
)
def test_many_failures_and_a_file_that_is_none_are_not_tried_again(
    tmp_path: Path, tests: str
) -> None:
    code, out = whole(tmp_path, tests)
    assert code != 0
    assert "once more" not in out


def test_when_all_pass_nothing_is_said_of_it(tmp_path: Path) -> None:
    code, out = whole(tmp_path, "")
    assert code == 0
    assert "alone" not in out
