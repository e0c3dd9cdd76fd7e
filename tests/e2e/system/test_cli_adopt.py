"""`trunkline up --root` and `trunkline session adopt`: a person's own conversations, by hand."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.system.test_cli import BOUND_S, Cli
from tests.support import foreign_files
from tests.support.programs import put_program

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    (folder / "projects" / "site").mkdir(parents=True)
    put_program(folder / "bin", "claude", "echo 2.1.0")
    foreign_files.claude_code(folder, folder / "projects" / "site")
    return folder / "projects" / "site"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Cli]:
    own = project.parents[1]
    cli = Cli(tmp_path_factory.mktemp("cli") / "data")
    del cli.env["TRUNKLINE_VM_COMMAND"]
    cli.env |= {"HOME": str(own), "PATH": f"{own / 'bin'}:{cli.env['PATH']}"}
    server = cli.serve("up", "--root", str(project.parent))
    assert server.stdout is not None
    server.stdout.readline()
    _until_it_can_be_asked(cli)
    yield cli
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=BOUND_S)


def _until_it_can_be_asked(cli: Cli) -> None:
    end = time.monotonic() + BOUND_S
    while not any("query" in one["capabilities"] for one in cli.json("machine", "list")):
        assert time.monotonic() < end, "the machine did not come"


def test_what_was_begun_below_the_root_is_listed(cli: Cli, project: Path) -> None:
    [one] = cli.json("session", "adopt")
    assert (one["id"], one["program"]) == (foreign_files.CLAUDE_ID, "claude-code")
    assert one["folder"] == str(project.resolve())
    printed = cli.ok("session", "adopt", "--runtime", "claude-code")
    assert foreign_files.STARTED in printed
    assert cli.json("session", "adopt", "--runtime", "codex") == []


def test_one_is_adopted_and_shows_how_to_go_on_there(cli: Cli, project: Path) -> None:
    made = cli.json("session", "adopt", foreign_files.CLAUDE_ID, "--title", "Mine")
    assert (made["title"], made["runtime_type"]) == ("Mine", "claude-code")
    shown = cli.ok("session", "show", made["id"])
    command = f"cd {project.resolve()} && claude --resume {foreign_files.CLAUDE_ID}"
    assert f"resume there with: {command}" in shown.splitlines()
    assert cli.json("session", "adopt", foreign_files.CLAUDE_ID)["id"] == made["id"]
    kinds = [one["type"] for one in cli.json("session", "log", made["id"])]
    assert kinds.count("execution_complete") == 2


def test_one_that_is_nowhere_is_told_so(cli: Cli) -> None:
    done = cli.run("session", "adopt", "unknown")
    assert done.returncode == 1
    assert "unknown" in done.stderr


def test_a_root_that_is_not_there_ends_the_start(cli: Cli, tmp_path: Path) -> None:
    other = Cli(tmp_path / "data")
    done = other.run("up", "--root", str(tmp_path / "missing"))
    assert done.returncode == 2
    assert "missing" in done.stderr
