"""The version is said in one place, and the changelog and a tag agree with it."""

import json

import pytest

from tests.support.release import ROOT, problems, tag_here
from trunkline import __version__

LOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n### Added\n\n## [1.1.0]\n"


def test_this_checkout_could_be_released() -> None:
    assert problems(tag_here(), __version__, (ROOT / "CHANGELOG.md").read_text()) == []
    client = json.loads((ROOT / "clients/typescript/package.json").read_text())
    assert client["version"] == __version__


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "said"),
    [
        ("v1.2.0", "1.2.0", LOG, ""),
        (None, "1.1.0", LOG, ""),
        ("v1.3.0", "1.2.0", LOG, "the tag is v1.3.0, and __version__ is 1.2.0"),
        ("1.2.0", "1.2.0", LOG, "the tag is 1.2.0"),
        ("v1.1.0", "1.1.0", LOG, "[1.1.0] has no date"),
        (None, "1.4.0", LOG, "no section ## [1.4.0]"),
        (None, "1.2", LOG.replace("1.2.0", "1.2"), "'1.2', which is no X.Y.Z"),
        (None, "1.2.0", LOG.replace("## [Unreleased]\n", ""), "does not begin with"),
        (None, "1.2.0", LOG.replace("Added", "News"), "### News is none of"),
        ("v1.2.0", "1.2.0", "", "does not begin with"),
    ],
)
def test_what_does_not_agree_is_said(
    tag: str | None, version: str, changelog: str, said: str
) -> None:
    found = problems(tag, version, changelog)
    assert bool(found) == bool(said)
    assert not said or any(said in one for one in found)
