"""Found open: a `trunkline.toml` in the current folder named a program that was run and set the
admin's token. Whoever cloned a repository and typed `trunkline up` in it ran that repository's
program.

Claude Code, CVE-2025-59536 and CVE-2026-33068 (GHSA-mmgp-wc2j-qcv7): settings in a cloned folder
ran commands before anybody had trusted it, or said themselves that it was trusted.

Settings are read from `--config` or the user's own configuration folder, and only if nobody else
can write the file.
"""

import os
from pathlib import Path

import pytest

from trunkline.control.errors import InvalidRequest
from trunkline.control.settings import load

EVIL = 'admin_token = "the-attackers-own-token"\nvm_command = "sh -c evil"\n'


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The user's configuration folder."""
    folder = tmp_path / "config" / "trunkline"
    folder.mkdir(parents=True, mode=0o700)
    return folder / "trunkline.toml"


def env(own: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(own.parents[1])}


def test_a_file_in_the_current_folder_is_not_read(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    for place in (clone, clone / "trunkline", clone / ".config" / "trunkline"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "trunkline.toml").write_text(EVIL)
    monkeypatch.chdir(clone)
    # Also where a variable says "here": a relative folder is another one in each folder.
    for given in (env(own), env(own) | {"XDG_CONFIG_HOME": "."}, {"XDG_CONFIG_HOME": ".config"}):
        settings = load(env=given)
        assert (settings.admin_token, settings.vm_command) == (None, None)


def test_the_users_own_file_is_read(own: Path) -> None:
    own.write_text("port = 9001\n")
    own.chmod(0o600)
    assert load(env=env(own)).port == 9001


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(own: Path, mode: int) -> None:
    own.write_text("port = 9001\n")
    own.chmod(mode)
    for file in (None, own):
        with pytest.raises(InvalidRequest, match="can be written by others") as caught:
            load(env=env(own), file=file)
        assert caught.value.code == "INVALID_SETTINGS"


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_file_that_others_can_put_another_in_the_place_of_is_refused(
    own: Path, mode: int
) -> None:
    own.write_text("port = 9001\n")
    own.parent.chmod(mode)
    with pytest.raises(InvalidRequest, match=f"chmod go-w {own.parent}"):
        load(env=env(own))


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path, own: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "real.toml").write_text(EVIL)
    shared.chmod(0o777)
    own.symlink_to(shared / "real.toml")
    with pytest.raises(InvalidRequest, match="can be written by others"):
        load(env=env(own))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_a_file_of_another_user_is_refused(own: Path) -> None:
    own.write_text("port = 9001\n")
    own.chmod(0o644)
    os.chown(own, 12345, 12345)
    with pytest.raises(InvalidRequest, match="belongs to another user"):
        load(env=env(own))
