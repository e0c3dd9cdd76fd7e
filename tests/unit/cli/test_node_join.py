"""What `trunkline node` connects with, and what it says when there is nothing."""

import os
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trunkline.cli import node_join
from trunkline.cli.main import app
from trunkline.cli.output import CommandFailed
from trunkline.execution import joining
from trunkline.execution.home import Home
from trunkline.execution.joining import Joined


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [one for one in os.environ if one.startswith(("TRUNKLINE", "VM_", "USER_ID"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("", 2, "this machine has not joined a server"),
        ("--home elsewhere", 2, "elsewhere): `trunkline machine add`"),
        ("--join ABCD-EFGH-JKMN", 2, "--join needs --url"),
        ("--url http://127.0.0.1:1", 2, "--url goes with --join"),
        ("--join A --url ftp://x", 2, "--url must be like"),
        ("--join A --url 'http://u:p@x/?q'", 2, "--url must be like"),
        ("--join A --url http://x --token T", 2, "give no other"),
        ("--join A --url http://x --wire agp", 2, "give no other"),
        ("--user-id u", 2, "VM_TOKEN is not set"),
        ("--join A --url http://127.0.0.1:1", 1, "nothing listens at 127.0.0.1:1"),
        ("--join A --url http://nowhere.invalid", 1, "is not known here (DNS)"),
    ],
)
def test_what_cannot_join_says_what_to_do(arguments: str, code: int, says: str) -> None:
    done = CliRunner().invoke(app, ["node", *shlex.split(arguments)])
    if code == 1:
        assert isinstance(done.exception, CommandFailed)
        assert says in str(done.exception)
    else:
        assert done.exit_code == code
        assert says in done.output


@pytest.mark.parametrize("code", [None, "abcd efgh jkmn"])
def test_who_has_joined_connects_with_what_was_kept(
    home: Path, code: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without arguments, and with the same line again: nothing is asked of the server."""
    place = Home(home / "agents")
    place.make()
    url = "http://127.0.0.1:1" if code else None
    joined = Joined(
        url="http://127.0.0.1:1",
        user_id="u",
        machine_id="m",
        token="t",
        secret="s",
        code_hash=sha256(b"ABCDEFGHJKMN").hexdigest(),
    )
    joining.keep(place, joined)
    flags: dict[str, Any] = {"token": None}
    assert node_join.credentials(code, url, flags, {}) == joined
    assert (flags["token"], flags["ticket"], flags["home"]) == ("t", None, place.root)
    assert flags["control_plane_url"] == "ws://127.0.0.1:1/ws/vm"
    assert ("already" in capsys.readouterr().out) is (code is not None)


def test_what_was_kept_and_is_damaged_does_not_join_again(home: Path) -> None:
    place = Home(home / "agents")
    place.make()
    place.joined_file.write_text("{")
    done = CliRunner().invoke(app, ["node"])
    assert done.exit_code == 2
    assert "joined.json cannot be read" in done.output


def test_a_home_that_is_taken_does_not_use_the_code_up(home: Path) -> None:
    place = Home(home / "agents")
    place.make()
    held = place.claim()
    try:
        done = CliRunner().invoke(app, ["node", "--join", "A", "--url", "http://127.0.0.1:1"])
    finally:
        os.close(held)
    assert "another daemon runs with the home" in str(done.exception)
