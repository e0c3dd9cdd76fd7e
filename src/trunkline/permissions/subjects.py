"""What a call is about, as far as a rule's pattern can say it: a command, paths, a host."""

from typing import Literal
from urllib.parse import urlsplit

import msgspec

Kind = Literal["command", "path", "domain"]

_IN_NO_HOST = frozenset("\\ \t\r\n@%<>\"'^`{|}")


class Subject(msgspec.Struct, frozen=True):
    """`value`: a command as it is; where a path leads, from the workspace, or whole outside of it;
    a host in small letters. None: it cannot be told. `also`: how else a path was written."""

    kind: Kind
    value: str | None
    also: tuple[str, ...] = ()


class Call(msgspec.Struct, frozen=True):
    """One call: what rules may call its tool, and what it is about."""

    names: tuple[str, ...]
    subjects: tuple[Subject, ...] = ()


def command(text: str) -> Subject:
    return Subject("command", text)


def host(name: str | None) -> Subject:
    return Subject("domain", plain_host(name or ""))


def host_of_url(text: str) -> Subject:
    """For whoever has no parser of its own; what could be read in two ways is not told."""
    if any(one in _IN_NO_HOST or not one.isprintable() for one in text.strip()[:2_000]):
        return Subject("domain", None)
    try:
        return host(urlsplit(text.strip()).hostname)
    except ValueError:
        return Subject("domain", None)


def plain_host(name: str) -> str | None:
    """In small letters, in ASCII, without a dot at its end."""
    text = name.strip().lower().removesuffix(".")
    if not text or any(one in _IN_NO_HOST or one in "/?#" for one in text):
        return None
    if text.isascii():
        return text
    try:
        return text.encode("idna").decode("ascii").removesuffix(".")
    except UnicodeError:
        return None
