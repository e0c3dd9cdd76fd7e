"""The browser is opened for somebody who sits before this machine, and for nobody else."""

from pathlib import Path

import pytest

from trunkline.cli.browser import FILE, address_for, is_there

DESK = {"DISPLAY": ":0"}
LINK = 'http://127.0.0.1:8080/login?code=tl_"&a'


@pytest.mark.parametrize(
    ("env", "platform", "is_root", "is_terminal", "opens"),
    [
        (DESK, "linux", False, True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", False, True, True),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", False, True, True),
        ({}, "darwin", False, True, True),
        ({"BROWSER": "/a/helper", "SSH_CONNECTION": "a b"}, "linux", False, True, True),
        ({}, "linux", False, True, False),
        (DESK, "linux", False, False, False),
        (DESK, "linux", True, True, False),
        ({**DESK, "CI": "true"}, "linux", False, True, False),
        ({**DESK, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux", False, True, False),
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "darwin", False, True, False),
    ],
)
def test_only_before_a_screen(
    env: dict[str, str], platform: str, is_root: bool, is_terminal: bool, opens: bool
) -> None:
    assert is_there(env, platform, is_root=is_root, is_terminal=is_terminal) is opens


def test_where_others_have_accounts_the_link_is_on_no_command_line(tmp_path: Path) -> None:
    alone = [(0, "/bin/bash"), (1000, "/bin/bash"), (1001, "/usr/sbin/nologin"), (65534, "/bin/sh")]
    assert address_for(LINK, tmp_path, alone, 1000) == LINK
    place = tmp_path / FILE
    assert address_for(LINK, tmp_path, [*alone, (1002, "/bin/zsh")], 1000) == place.as_uri()
    assert place.stat().st_mode & 0o077 == 0
    assert "code=tl_&quot;&amp;a" in place.read_text()
