"""Opens the page in the person's browser, where there is one: on their own desktop, in a terminal.

A login link works once, and whoever else has an account here can read the command line that a
browser is started with: then a file that only its user can read leads there instead.
"""

import html
import os
import pwd
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from trunkline.private_files import write_private

FILE: Final = "login.html"
_PEOPLE_FROM_UID = 1000
_NOBODY_UID = 65534
_NO_SHELLS = ("/nologin", "/false", "/sync")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")


def is_there(env: Mapping[str, str], platform: str, *, is_root: bool, is_terminal: bool) -> bool:
    """Whether whoever started this sits before a screen of this machine."""
    if not is_terminal or env.get("CI"):
        return False
    if env.get("BROWSER"):
        return True  # also of a terminal elsewhere that brings it along
    if env.get("SSH_CONNECTION"):
        return False
    if platform in ("darwin", "win32"):
        return True
    return not is_root and any(env.get(name) for name in _DISPLAYS)


def address_for(url: str, folder: Path, shells: Iterable[tuple[int, str]], own_uid: int) -> str:
    """What the browser is started with. `shells`: the accounts of this machine."""
    others = [
        uid
        for uid, shell in shells
        if _PEOPLE_FROM_UID <= uid < _NOBODY_UID and uid != own_uid and _is_used(shell)
    ]
    if not others:
        return url
    place = folder / FILE
    to = html.escape(url, quote=True)
    write_private(place, f'<!doctype html><meta http-equiv="refresh" content="0; url={to}">\n')
    return place.absolute().as_uri()


def _is_used(shell: str) -> bool:
    return bool(shell) and not shell.endswith(_NO_SHELLS)


def open_page(url: str, folder: Path, show: Callable[[str], object] = webbrowser.open) -> bool:
    """Whether it tries. In a thread: some browsers keep who starts them waiting."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_there(os.environ, sys.platform, is_root=os.geteuid() == 0, is_terminal=terminal):
        return False
    if _is_in_the_terminal():
        return False
    shells = [(one.pw_uid, one.pw_shell) for one in pwd.getpwall()]
    address = address_for(url, folder, shells, os.getuid())
    threading.Thread(target=show, args=(address,), daemon=True).start()
    return True


def _is_in_the_terminal() -> bool:
    """A browser without windows would take the terminal away."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return True
    return type(found) is webbrowser.GenericBrowser and not os.environ.get("BROWSER")
