"""The environment that programs of a session get: the machine's, without anybody's secrets."""

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

_TELLING_CHARS_MIN = 8  # a shorter value occurs in others by chance
# Ours, whatever a skill asks for.
_OURS = re.compile(r"(?:TRUNKLINE|VM)_.*|CONTROL_PLANE_WS|USER_ID", re.IGNORECASE)
_SECRET = re.compile(
    r".*(?:KEY|TOKEN|SECRET|TICKET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|COOKIE|_DSN"
    r"|DATABASE_URL|_PAT)(?:_.*)?|.*AUTH_SOCK|AUTHORIZATION",
    re.IGNORECASE,
)
# Shells run what these name or hold, before the command itself.
_SHELL = re.compile(r"BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|BASH_FUNC_.*")


def scrubbed(
    env: Mapping[str, str], *, keep: Collection[str] = (), secrets: Collection[str] = ()
) -> dict[str, str]:
    """`keep`: names that a skill needs, secret or not. `secrets`: values that must not be there
    under any name. `python` is always found: this one, if the machine has no other."""
    clean = {
        name: value
        for name, value in env.items()
        if not _OURS.fullmatch(name)
        and not _SHELL.fullmatch(name)
        and (name in keep or not _SECRET.fullmatch(name))
        and not any(_reveals(value, secret) for secret in secrets)
    }
    own = str(Path(sys.executable).parent)
    path = [part for part in clean.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if part]
    clean["PATH"] = ":".join([*(part for part in path if part != own), own])
    clean["TERM"] = "dumb"  # no colours and no pagers for a reader that is a model
    clean["PAGER"] = clean["GIT_PAGER"] = "cat"
    return clean


def _reveals(value: str, secret: str) -> bool:
    return value == secret or (len(secret) >= _TELLING_CHARS_MIN and secret in value)
