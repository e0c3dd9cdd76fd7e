"""The release as people get it: sources, a wheel made of them without Node, and a fresh environment
with that wheel and nothing else. Made once; from uv's cache where it has everything."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.program import plain_environment

ROOT = Path(__file__).parents[3]
UV = (sys.executable, "-m", "uv")
_UNREACHABLE = re.compile(r"error sending request|dns error|timed out|connect|network", re.I)
_STEP_S = 120


class Release(NamedTuple):
    sources: Path
    wheel: Path


def ran(*command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """In our folder; `env`: besides this process's own."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env=plain_environment() | env,
        capture_output=True,
        text=True,
        timeout=_STEP_S,
        check=False,
    )


def fetched(*command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """A command of uv's that wants packages of the versions that we lock."""
    what = (*command[:2], "--constraints", "requirements.lock", *command[2:])
    done = ran(*UV, *what, UV_OFFLINE="1", **env)
    if done.returncode != 0:
        done = ran(*UV, *what, **env)
    if done.returncode != 0 and _UNREACHABLE.search(done.stderr):
        pytest.skip(f"no packages: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done


def environment(folder: Path, *packages: str) -> Path:
    """The programs of a new environment with these packages."""
    made = ran(*UV, "venv", "--quiet", "--python", sys.executable, str(folder))
    assert made.returncode == 0, made.stderr
    python = str(folder / "bin" / "python")
    fetched("pip", "install", "--quiet", "--python", python, *packages)
    return folder / "bin"


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    flags = ("--quiet", "--no-build-isolation", "--out-dir", str(folder))
    made = ran(*UV, "build", "--sdist", *flags, "--python", sys.executable)
    assert made.returncode == 0, made.stderr
    [sources] = folder.glob("*.tar.gz")
    # It has the build backend, and no Node.
    python = environment(folder / "builder", "hatchling") / "python"
    made = ran(*UV, "build", "--wheel", *flags, "--python", str(python), str(sources))
    assert made.returncode == 0, made.stderr
    [wheel] = folder.glob("*.whl")
    return Release(sources, wheel)


@pytest.fixture(scope="session")
def installed(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are that a plain installation has."""
    return environment(tmp_path_factory.mktemp("installed") / "venv", str(release.wheel))
