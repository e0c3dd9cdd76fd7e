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
    r"|DATABASE_URL|WEBHOOK_URL|CONNECTION_STRING|_PAT|_PASS|_PWD)(?:_.*)?"
    r"|.*AUTH_SOCK|.*_AUTH(?:_CONFIG)?|AUTHORIZATION",
    re.IGNORECASE,
)
# `redis://:password@host`. Proxies stay: without them nothing reaches the network.
_LOGIN = re.compile(r"://[^/\s]*:[^/\s]+@")
_PROXY = re.compile(r".*_PROXY", re.IGNORECASE)
# Shells and loaders run what these name or hold, before the command itself.
_TRAP = re.compile(
    r"BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|BASH_FUNC_.*|LD_PRELOAD|LD_AUDIT"
)


def scrubbed(
    env: Mapping[str, str], *, keep: Collection[str] = (), secrets: Collection[str] = ()
) -> dict[str, str]:
    """`keep`: names that a skill needs, secret or not. `secrets`: values that must not be there
    under any name. `python` is always found: this one, if the machine has no other."""
    clean = {
        name: value
        for name, value in env.items()
        if not _OURS.fullmatch(name)
        and not _TRAP.fullmatch(name)
        and (name in keep or not _is_secret(name, value))
        and not any(_reveals(value, secret) for secret in secrets)
    }
    own = str(Path(sys.executable).parent)
    path = [part for part in clean.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if part]
    clean["PATH"] = ":".join([*(part for part in path if part != own), own])
    clean["TERM"] = "dumb"  # no colours and no pagers for a reader that is a model
    clean["PAGER"] = clean["GIT_PAGER"] = "cat"
    return clean


def _is_secret(name: str, value: str) -> bool:
    if _SECRET.fullmatch(name):
        return True
    return _LOGIN.search(value) is not None and not _PROXY.fullmatch(name)


def _reveals(value: str, secret: str) -> bool:
    return value == secret or (len(secret) >= _TELLING_CHARS_MIN and secret in value)
