"""The daemon as a service of its user: what is written, what systemd is asked, and what is said."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from trunkline.cli import systemd
from trunkline.cli.main import app
from trunkline.cli.output import CommandFailed
from trunkline.execution import joining
from trunkline.execution.home import Home

NAME = "trunkline-node.service"
_SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >> "$CALLS"
case "$2" in
  show-environment) [ -z "$NO_MANAGER" ] || { echo "Failed to connect to bus" >&2; exit 1; } ;;
  is-active) [ -e "$CALLS.active" ] && echo active || { echo inactive; exit 3; } ;;
  is-enabled) [ -e "$CALLS.active" ] && echo enabled || { echo disabled; exit 1; } ;;
  restart) : > "$CALLS.active" ;;
  disable) rm -f "$CALLS.active" ;;
esac
"""
_LOGINCTL = """#!/bin/sh
echo "loginctl $1" >> "$CALLS"
case "$1" in
  show-user) [ -e "$CALLS.linger" ] && echo Linger=yes || echo Linger=no ;;
  enable-linger) [ -z "$NO_LINGER" ] || { echo "Access denied" >&2; exit 1; }
    : > "$CALLS.linger" ;;
esac
"""


class Computer:
    """A person's computer with a systemd that notes what it is asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "a home 100%"
        self.home.mkdir()
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._calls = folder / "calls"
        for name, text in (("systemctl", _SYSTEMCTL), ("loginctl", _LOGINCTL)):
            self._add(name, text)
        for name in [one for one in os.environ if one.startswith(("TRUNKLINE", "XDG"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("CALLS", str(self._calls))
        monkeypatch.setenv("PATH", f"{self._programs}:{os.defpath}")
        self.config = self.home / ".config"
        self.unit = self.config / "systemd" / "user" / NAME
        self.environment = self.config / "trunkline" / f"{NAME}.env"

    def _add(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(text)
        path.chmod(0o755)

    def remove_systemd(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (self._programs / "systemctl").unlink()
        monkeypatch.setenv("PATH", str(self._programs))

    def join(self, folder: str = "agents") -> Home:
        home = Home(self.home / folder)
        home.make()
        joined = joining.Joined(
            url="https://trunk.example", user_id="u", machine_id="m-1", token="t", secret="nd_s"
        )
        joining.keep(home, joined)
        return home

    @property
    def calls(self) -> list[str]:
        """Since the last look, without the questions."""
        text = self._calls.read_text() if self._calls.exists() else ""
        self._calls.unlink(missing_ok=True)
        asked = ("show-environment", "is-active", "is-enabled", "show-user")
        return [one for one in text.splitlines() if not any(word in one for word in asked)]


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computer:
    return Computer(tmp_path, monkeypatch)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["node", *arguments])


def status(*arguments: str) -> dict[str, object]:
    done = run("status", "--json", *arguments)
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_service_is_installed_stays_and_goes(computer: Computer) -> None:
    home = computer.join()
    enabled = [
        "systemctl --user daemon-reload",
        f"systemctl --user enable {NAME}",
        f"systemctl --user restart {NAME}",
    ]
    done = run("install")
    assert done.exit_code == 0, done.output
    assert f"{NAME} is installed" in done.output
    assert computer.calls == [*enabled, "loginctl enable-linger"]
    unit = computer.unit.read_text()
    for line in (
        "WantedBy=default.target",
        "Restart=always",
        "Delegate=pids memory",
        "RestartPreventExitStatus=2",
    ):
        assert line in unit.splitlines()
    assert f'TRUNKLINE_NODE_HOME="{home.root}"' in computer.environment.read_text()
    assert stat.S_IMODE(computer.environment.stat().st_mode) == 0o600
    assert "nd_s" not in unit + computer.environment.read_text()

    with computer.environment.open("a") as file:
        file.write("# of my own\nOPENAI_API_KEY=sk-mine\n")
    before = computer.environment.read_text()
    assert run("install").exit_code == 0  # twice is like once
    assert computer.environment.read_text() == before
    assert computer.calls == enabled
    assert computer.unit.read_text() == unit
    told = status()
    assert (told["server"], told["machine_id"]) == ("https://trunk.example", "m-1")
    assert (told["active"], told["enabled"]) == ("active", "enabled")
    assert told["stays_after_logout"] is True
    assert computer.calls == []

    for word in ("is stopped and gone", "there is no"):
        done = run("uninstall")
        assert done.exit_code == 0
        assert word in done.output
    assert computer.calls == [
        f"systemctl --user disable --now {NAME}",
        "systemctl --user daemon-reload",
    ]
    assert not computer.unit.exists()
    assert not computer.environment.exists()
    assert status()["service"] is None
    assert joining.read(home) is not None


def test_a_machine_that_has_not_joined_is_told_the_next_step(computer: Computer) -> None:
    done = run("install")
    assert isinstance(done.exception, CommandFailed)
    assert "trunkline machine add" in str(done.exception)
    assert computer.calls == []
    assert not computer.config.exists()


def test_without_systemd_there_is_another_way(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.join()
    monkeypatch.setenv("NO_MANAGER", "1")
    done = run("install")
    assert "Failed to connect to bus" in str(done.exception)
    assert r"@reboot TRUNKLINE_NODE_HOME='" in str(done.exception)
    assert r"100\%" in str(done.exception)  # which cron would take for the end of the line
    computer.remove_systemd(monkeypatch)
    assert "there is no systemd here" in str(run("install").exception)
    assert not computer.unit.exists()
    assert status()["detail"] == "there is no systemd here"
    assert run("uninstall").exit_code == 0


def test_a_service_that_would_end_with_the_login_says_so(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.join()
    monkeypatch.setenv("NO_LINGER", "1")
    done = run("install")
    assert done.exit_code == 0
    assert "sudo loginctl enable-linger" in done.output
    assert "Access denied" in done.output
    assert status()["stays_after_logout"] is False


def test_two_homes_are_two_services_and_the_shells_settings_are_kept(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.join()
    other = computer.join("other")
    monkeypatch.setenv("TRUNKLINE_NODE_NETWORK", "off")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-copied")
    held = other.claim()
    try:
        work = ["--root", str(computer.home), "--root", "/", "--workspace", str(other.root)]
        done = run("install", "--home", str(other.root), *work)
    finally:
        os.close(held)
    assert "Another `trunkline node` runs with this home" in done.output
    [file] = computer.environment.parent.iterdir()
    assert file.name not in (NAME, computer.environment.name)
    text = file.read_text()
    assert 'TRUNKLINE_NODE_NETWORK="off"' in text
    assert f'TRUNKLINE_NODE_ROOTS="{computer.home}:/"' in text
    assert f'TRUNKLINE_NODE_WORKSPACE="{other.root}"' in text
    assert "sk-never-copied" not in text
    assert not computer.unit.exists()
    assert status()["service"] is None


def test_a_program_that_will_not_stay_is_not_installed(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    computer.join()
    monkeypatch.setenv("UV_CACHE_DIR", str(Path(sys.prefix).parent))
    assert "uv tool install trunkline" in str(run("install").exception)
    assert not computer.unit.exists()


def test_what_the_service_would_not_have_is_refused(computer: Computer) -> None:
    computer.join()
    assert "no folder" in str(run("install", "--root", "/no/such").exception)
    for flags in (["--root", "/"], ["--max-sessions", "3"], ["--join", "A"]):
        done = run(*flags, "install")
        assert done.exit_code == 2
        assert f"{flags[0]} stands behind install" in done.output
    assert not computer.unit.exists()


HOSTILE = ["/a b/100%h", '/quo"te\\d', "/do$HOME/${X}", "/glob[a]*?", "/ünï/代理"]


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_understands_every_path(path: str, tmp_path: Path) -> None:
    folder = tmp_path / path.strip("/")
    folder.mkdir(parents=True)
    program = tmp_path / "its $own 100% folder" / "trunkline"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environment = folder / "node.env"
    environment.write_text(systemd.environment_file({"A": path}))
    unit = tmp_path / NAME
    unit.write_text(systemd.unit(f"of {path}", [str(program), path], environment, folder))
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert NAME not in done.stderr, done.stderr
    assert "node.env" not in done.stderr, done.stderr


@pytest.mark.parametrize("path", HOSTILE)
def test_a_shell_reads_the_environment_as_it_was(path: str, tmp_path: Path) -> None:
    """systemd takes double quotes as a shell does."""
    file = tmp_path / "env"
    file.write_text(systemd.environment_file({"A": path}))
    script = f'. "{file}"; printf %s "$A"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout == path


@pytest.mark.parametrize("path", ["/a\nExecStart=/bin/evil", "/a\0b", "/a\x1b[2J"])
def test_what_would_be_another_line_is_refused(path: str) -> None:
    with pytest.raises(CommandFailed):
        systemd.environment_file({"A": path})
    with pytest.raises(CommandFailed):
        systemd.unit("x", [path], Path("/e"), Path("/f"))
