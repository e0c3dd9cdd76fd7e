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
    adapter: str = ""
    """The package, of those beside it, whose program speaks with us and drives this one. Another
    package may have a program of the same name."""
    driven: str = ""
    """The program that the adapter drives, as a pattern in `node_modules`."""
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
        # It speaks ACP, and has Codex itself do the work: what it writes, a terminal opens.
        commands=("codex-acp",),
        adapter="@agentclientprotocol/codex-acp",
        # Not the script of the same package, which needs a Node.js that it finds by itself.
        driven="@openai/codex-*/vendor/*/bin/codex",
        size_mb=460,
        beside=("@agentclientprotocol/codex-acp@2.6.0",),
    ),
    "goose": Package(
        name=f"@aaif/goose-binary-{_NATIVE}",
        version="1.52.0",
        commands=(f"goose-binary-{_NATIVE}",),
        size_mb=290,
    ),
}
