"""The doctor about runtimes: of this host, of machines that run, and which home is meant."""

from pathlib import Path

import pytest

from tests.support.programs import put_package, put_program
from trunkline.cli import doctor_runtimes
from trunkline.cli.output import CommandFailed
from trunkline.cli.running_server import Running
from trunkline.control.settings import Settings
from trunkline.execution.home import Home
from trunkline.execution.runtimes.catalog import install_command
from trunkline.execution.settings import DEFAULT_HOME

UP = {"id": "m-1", "name": "this computer"}


def found(home: Path, path: Path, running: Running | None = None) -> dict[str, tuple[str, str]]:
    checks = doctor_runtimes.checks(home, {"PATH": str(path)}, running)
    return {one.name: (one.state, f"{one.detail} {one.fix}") for one in checks}


def test_every_runtime_of_this_host_says_its_version_or_how_to_install_it(tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "claude", "echo 2.1.0")
    put_package(Home(tmp_path / "home").programs, "opencode", "opencode", "1.18.33")
    told = found(tmp_path / "home", tmp_path / "bin")
    assert told["Runtime claude-code"][0] == "ok"
    assert told["Runtime claude-code"][1].startswith("2.1.0 at ")
    assert told["Runtime acp: opencode"][1].startswith("1.18.33 at ")
    assert told["Runtime acp: goose"][0] == "missing"
    assert told["Runtime acp: goose"][1].endswith("trunkline doctor --install goose")


def test_a_program_that_is_there_and_does_not_start_is_not_well(tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "claude", "echo no library >&2; exit 1")
    state, told = found(tmp_path, tmp_path / "bin")["Runtime claude-code"]
    assert state == "missing"
    assert "no library" in told


def test_machines_that_run_say_it_themselves(tmp_path: Path) -> None:
    machine = {
        "name": "laptop",
        "runtimes": {
            "semigraph": {"usable": True, "version": "0.1.0"},
            "openclaw": {"usable": False, "reason": "no\x1b[2J", "install": "do this"},
        },
    }
    silent = {"name": "old", "runtimes": None}
    told = found(tmp_path, tmp_path, Running({}, [], [machine, silent]))
    assert told["Runtime semigraph"] == ("ok", "0.1.0 ")
    assert told["Runtime openclaw"][0] == "missing"
    assert "\x1b" not in told["Runtime openclaw"][1]
    two = found(tmp_path, tmp_path, Running({}, [], [machine, machine | {"name": "desk"}]))
    assert {"Runtime semigraph on 'laptop'", "Runtime semigraph on 'desk'"} <= set(two)


def test_a_command_names_the_home_only_where_another_one_would_be_taken(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    command = install_command("opencode", home)
    record = {"runtimes": {"acp": {"usable": False, "install": command}}}
    running = Running({}, [], [record])
    for other, is_usual, fix in (
        (home, True, "trunkline doctor --install opencode"),
        (home, False, command),  # another data folder, or a home, was named
        (tmp_path, True, command),
    ):
        [check] = doctor_runtimes.checks(other, {}, running, is_usual=is_usual)
        assert check.fix == fix


def of(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"))


def test_the_home_that_is_named_is_taken(tmp_path: Path) -> None:
    home = doctor_runtimes.home_of(tmp_path / "mine", of(tmp_path), Running({}, [UP]), {})
    assert home == tmp_path / "mine"


def test_without_a_name_it_is_that_of_the_machine_that_runs(tmp_path: Path) -> None:
    other = {"id": "m-2", "name": "another"}
    running = Running({}, [other, UP])
    home = doctor_runtimes.home_of(None, of(tmp_path), running, {})
    assert home == tmp_path / "data-machines" / "m-1"


def test_without_a_server_it_is_that_of_the_only_machine_beside_the_data_folder(
    tmp_path: Path,
) -> None:
    only = tmp_path / "data-machines" / "m-7"
    only.mkdir(parents=True)
    assert doctor_runtimes.home_of(None, of(tmp_path), None, {}) == only
    (tmp_path / "data-machines" / "m-8").mkdir()
    with pytest.raises(CommandFailed, match="--home"):
        doctor_runtimes.home_of(None, of(tmp_path), None, {})


def test_a_home_that_an_earlier_version_made_in_the_data_folder_is_found(tmp_path: Path) -> None:
    old = tmp_path / "data" / "vms" / "m-1"
    old.mkdir(parents=True)
    assert doctor_runtimes.home_of(None, of(tmp_path), None, {}) == old
    assert doctor_runtimes.home_of(None, of(tmp_path), Running({}, [UP]), {}) == old


def test_without_any_machine_it_is_where_a_node_would_live(tmp_path: Path) -> None:
    env = {"TRUNKLINE_NODE_HOME": str(tmp_path / "node")}
    assert doctor_runtimes.home_of(None, of(tmp_path), None, env) == tmp_path / "node"
    assert doctor_runtimes.home_of(None, of(tmp_path), None, {}) == DEFAULT_HOME


def test_what_cannot_be_installed_is_an_error_for_people(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="did you mean 'opencode'"):
        doctor_runtimes.install_program("opencod", tmp_path, {})
