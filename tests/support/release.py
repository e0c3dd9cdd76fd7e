"""Whether a release says the same everywhere: `python -m tests.support.release [vX.Y.Z]`.

The tag, `trunkline.__version__` and a dated section of CHANGELOG.md. Without a tag, that of the
current commit; where it has none, only what holds before a release is looked at.
"""

import re
import subprocess
import sys
from pathlib import Path

from trunkline import __version__

ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def problems(tag: str | None, version: str, changelog: str) -> list[str]:
    """What is wrong, in words; nothing if all of it agrees."""
    found = []
    sections: dict[str, str] = dict(_SECTION.findall(changelog))
    if not _VERSION.fullmatch(version):
        found.append(f"__version__ is {version!r}, which is no X.Y.Z")
    if next(iter(sections), None) != "Unreleased":
        found.append("CHANGELOG.md does not begin with ## [Unreleased]")
    if version not in sections:
        found.append(f"CHANGELOG.md has no section ## [{version}]")
    kinds = re.findall(r"^### (.+)$", changelog, re.MULTILINE)
    found += [f"CHANGELOG.md: ### {one} is none of {_KINDS}" for one in kinds if one not in _KINDS]
    if tag is None:
        return found
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and __version__ is {version}")
    elif version in sections and not sections[version]:
        found.append(f"CHANGELOG.md: ## [{version}] has no date (## [{version}] - YYYY-MM-DD)")
    return found


def tag_here() -> str | None:
    """Of the current commit."""
    asked = ("git", "describe", "--tags", "--exact-match", "--match", "v*")
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def main() -> int:
    tag = sys.argv[1] if len(sys.argv) > 1 else tag_here()
    found = problems(tag, __version__, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for one in found:
        print(f"error: {one}", file=sys.stderr)
    if not found:
        print(f"{__version__}: the version and its changelog agree{f' with {tag}' if tag else ''}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
