"""Which server a command talks to, and with which token.

A flag wins over the environment, the environment over the data folder, where a running server
leaves its address (`server.json`) and the admin token (`admin-token`).
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from trunkline.cli.errors import CommandFailed

DEFAULT_PORT = "8080"


class Place(msgspec.Struct, frozen=True):
    """A server and who we are to it."""

    url: str
    token: str | None

    def __repr__(self) -> str:
        return f"Place(url={self.url!r})"


class _ServerFile(msgspec.Struct):
    url: str


def find(url: str | None, token: str | None, data: str | None, env: Mapping[str, str]) -> Place:
    """The place that the flags, the environment and the data folder name."""
    folder = data_folder(data, env)
    running = _running(folder)
    usual = f"http://127.0.0.1:{env.get('TRUNKLINE_PORT') or DEFAULT_PORT}"
    chosen = (url or env.get("TRUNKLINE_URL") or running or usual).rstrip("/")
    if not chosen.startswith(("http://", "https://")):
        raise CommandFailed(f"{chosen!r} is no http address")
    secret = token or env.get("TRUNKLINE_TOKEN") or env.get("TRUNKLINE_ADMIN_TOKEN")
    # The folder's token is for the folder's server alone: no other address gets to see it.
    if secret is None and chosen == running:
        secret = _read(folder / "admin-token")
    return Place(chosen, secret)


def data_folder(data: str | None, env: Mapping[str, str]) -> Path:
    """Where the server of this user keeps its files, by the rule of the settings."""
    from trunkline.control.settings import Settings

    return Settings(data=data or env.get("TRUNKLINE_DATA", "")).data_dir


def _running(folder: Path) -> str | None:
    text = _read(folder / "server.json")
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=_ServerFile).url.rstrip("/")
    except msgspec.DecodeError as error:
        raise CommandFailed(f"{folder / 'server.json'} is damaged: {error}") from error


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"cannot read {path}: {error}") from error
