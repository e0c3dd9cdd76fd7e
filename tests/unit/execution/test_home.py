"""A machine's folders: where the document has them, private, and held by one daemon."""

import json
import os
import stat
from pathlib import Path

import pytest

from trunkline.execution.errors import HomeBusy
from trunkline.execution.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "user")
    made.make()
    return made


@pytest.mark.proves("004-6-layout")
def test_the_folders_are_the_documents(home: Home) -> None:
    found = {path.relative_to(home.root).as_posix() for path in home.root.rglob("*")}
    assert found >= {"workspace", ".semibot/sessions", ".semibot/skills"}
    assert home.config_file == home.root / ".semibot" / "config.json"


def test_what_is_ours_is_closed_to_others(home: Home) -> None:
    for folder in (home.internal, home.sessions, home.skills, home.outbox, home.run):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_was_open_before_is_closed(tmp_path: Path) -> None:
    (tmp_path / ".semibot").mkdir(mode=0o755)
    home = Home(tmp_path)
    home.make()
    home.make()  # again, as at every start
    assert stat.S_IMODE(home.internal.stat().st_mode) == 0o700


@pytest.mark.parametrize("session_id", ["a", "01a1ddb7-19b1-7a09", "A.b_c-9", "x" * 100])
def test_a_plain_id_is_a_folder(home: Home, session_id: str) -> None:
    assert home.session(session_id) == home.sessions / session_id


@pytest.mark.parametrize(
    "session_id",
    ["", ".", "..", "../x", "a/b", "/etc", ".hidden", "-x", "x" * 101, "a\n", "a\0b", "é", " a"],
)
def test_an_id_that_is_no_plain_name_is_refused(home: Home, session_id: str) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        home.session(session_id)


@pytest.mark.proves("004-6-config-json")
def test_the_configuration_is_readable_private_and_replaced_whole(home: Home) -> None:
    home.write_config(user_id="u-1", sessions_max=20)
    home.write_config(user_id="u-2")
    assert json.loads(home.config_file.read_text()) == {"user_id": "u-2"}
    assert stat.S_IMODE(home.config_file.stat().st_mode) == 0o600
    assert [path.name for path in home.internal.glob("*config*")] == ["config.json"]


def test_a_home_is_one_daemons(home: Home) -> None:
    held = home.claim()
    with pytest.raises(HomeBusy, match="another daemon"):
        Home(home.root).claim()
    os.close(held)  # as the end of a process does
    os.close(home.claim())
