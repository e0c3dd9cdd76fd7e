"""The real programs that tests run, once per clone in `.programs`, which is laid out as a home.

    python -m tests.support.runtimes.installed opencode copilot

installs what is missing; with `--has` it says by its exit code whether they are there. What cannot
be had is written down with the reason, and the tests that need it are skipped with that.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.support import chromium
from trunkline.execution.errors import InstallFailed
from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.install import install

ROOT = Path(__file__).parents[3]
CACHE = Home(ROOT / ".programs")


def why_missing(name: str) -> str:
    """Empty when the program is there."""
    if _is_here(name):
        return ""
    told = _reason(name)
    reason = told.read_text() if told.exists() else "nobody has installed it: make programs"
    return f"{name} is not here: {reason}"


def need(*names: str) -> None:
    """Skips the test, with the reason, where one of them cannot be had."""
    for name in names:
        if reason := why_missing(name):
            pytest.skip(reason)


def lend(home: Path) -> None:
    """Gives a machine the programs of this clone."""
    place = Home(home).programs
    place.parent.mkdir(parents=True, exist_ok=True)
    if CACHE.programs.is_dir() and not place.exists():
        place.symlink_to(CACHE.programs)


def _is_here(name: str) -> bool:
    if name == chromium.NAME:
        return chromium.executable(CACHE.programs) is not None
    return bool(programs.locate(name, CACHE, os.environ))


def _reason(name: str) -> Path:
    return CACHE.programs / f"{name}.reason"


def fetch(name: str) -> None:
    """Installs it where it is not there yet; says why not where that cannot be."""
    if _is_here(name):
        return
    CACHE.programs.mkdir(parents=True, exist_ok=True)
    try:
        if name == chromium.NAME:
            chromium.install(CACHE.programs, _say)
        else:
            install(name, CACHE.programs, tell=_say)
    except InstallFailed as error:
        _reason(name).write_text(str(error))
        print(f"{name} cannot be installed, and its tests are skipped: {error}", flush=True)
    else:
        _reason(name).unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--has"]:
        sys.exit(any(map(why_missing, sys.argv[2:])))
    for one in sys.argv[1:]:
        fetch(one)
