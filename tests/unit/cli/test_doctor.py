"""The doctor: right about what is there, helpful about what is not, silent about secrets."""

import os
import socket
import sys
from pathlib import Path

import pytest

from trunkline.cli.doctor import Check, run_all
from trunkline.control.settings import Settings


def checks(
    tmp_path: Path,
    env: dict[str, str] | None = None,
    python: str = sys.executable,
    **settings: object,
) -> dict[str, Check]:
    chosen = Settings(data=str(tmp_path / "data"), port=0, **settings)  # type: ignore[arg-type]
    return {check.name: check for check in run_all(chosen, env or {}, python)}


def test_a_usable_machine_has_no_failing_check(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert [check.name for check in found.values() if check.state == "fail"] == []
    assert {"Python", "Database", "Port", "Node", "OpenClaw", "Claude Code"} <= set(found)


def test_everything_that_is_not_well_says_how_to_fix_it(tmp_path: Path) -> None:
    for check in checks(tmp_path).values():
        assert check.state == "ok" or check.fix


def test_a_taken_port_is_seen(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings = Settings(data=str(tmp_path), port=other.getsockname()[1])
        other.settimeout(0)
        (port,) = [one for one in run_all(settings, {}) if one.name == "Port"]
    assert port.state == "fail"
    assert "--port" in port.fix


def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    url = "postgresql+asyncpg://me:hunter2@127.0.0.1:1/x"
    check = checks(tmp_path, database_url=url)["Database"]
    assert check.state == "fail"
    assert "hunter2" not in check.detail
    assert "127.0.0.1:1" in check.detail


def test_a_data_folder_that_cannot_be_made_is_seen(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert checks(tmp_path)["Data folder"].state == "fail"


def test_keys_are_seen_and_not_shown(tmp_path: Path) -> None:
    check = checks(tmp_path, {"OPENAI_API_KEY": "sk-secret-secret"})["Model keys"]
    assert (check.state, "OPENAI_API_KEY" in check.detail) == ("ok", True)
    assert "secret" not in check.detail


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("echo v24.19.0", "ok"),
        ("echo v26.1.0", "ok"),
        ("echo v25.3.0", "missing"),
        ("echo v18.20.4", "missing"),
        ("printf '\\033[2Jgarbage'", "missing"),
        ("exit 3", "missing"),
    ],
)
def test_node_is_judged_by_its_version(tmp_path: Path, script: str, state: str) -> None:
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    python = str(tmp_path / "bin" / "python")
    check = checks(tmp_path, {"PATH": os.environ["PATH"]}, python)["Node"]
    assert check.state == state
    assert "\x1b" not in check.detail
