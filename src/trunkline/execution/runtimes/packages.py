"""The packages that bring the programs of other makers: which versions work, how large they are.

A table for whoever installs one (`install.py`) or looks for one (`programs.py`).
"""

import platform
import sys
from typing import Final

import msgspec

_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def native_platform() -> str:
    """As npm packages with programs for one kind of machine are named."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_ARCHITECTURES.get(machine, machine)}"


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """What npm installs for one program."""

    name: str
    """On npm; the version that is chosen with `NAME@VERSION` is its."""
    version: str
    """Known to work here."""
    commands: tuple[str, ...]
    """Names of the program in `node_modules/.bin`, the best first."""
    size_mb: int
    """On disk, about."""
    beside: tuple[str, ...] = ()
    """Other packages, with their versions."""
    asked: str = ""
    """The command that knows its version, where the program itself does not."""
    helpers: str = ""
    """A folder of programs that it needs and does not find by itself, as a pattern."""
    has_setup: bool = False
    """It does not start before its own script has run. Scripts of other packages never run."""


_NATIVE = native_platform()
PACKAGES: Final[dict[str, Package]] = {
    "openclaw": Package(
        name="openclaw",
        version="2026.9.6",
        commands=("openclaw",),
        size_mb=650,
        has_setup=True,
    ),
    "claude-code": Package(
        name="@anthropic-ai/claude-code",
        version="2.1.325",
        commands=("claude",),
        size_mb=350,
        has_setup=True,
    ),
    "opencode": Package(
        name="opencode-ai",
        version="1.18.33",
        commands=("opencode",),
        size_mb=360,
        has_setup=True,
    ),
    # Where a package has the program itself beside a script that starts it, that is one process
    # less for each session.
    "copilot": Package(
        name="@github/copilot",
        version="1.0.102",
        commands=(f"copilot-{_NATIVE}", "copilot"),
        size_mb=190,
    ),
    "gemini": Package(
        name="@google/gemini-cli", version="0.61.0", commands=("gemini",), size_mb=100
    ),
    "codex": Package(
        name="@openai/codex",
        version="0.166.0",
        # Another maker's: it speaks ACP, and does its work with the libraries of Codex.
        commands=(f"codex-acp-{_NATIVE}", "codex-acp"),
        asked="codex",
        size_mb=660,
        beside=("@zed-industries/codex-acp@0.16.0",),
        # Its sandbox: a machine has seldom one of its own.
        helpers="node_modules/@openai/codex-*/vendor/*/codex-resources",
    ),
    "goose": Package(
        name=f"@aaif/goose-binary-{_NATIVE}",
        version="1.52.0",
        commands=(f"goose-binary-{_NATIVE}",),
        size_mb=290,
    ),
}
