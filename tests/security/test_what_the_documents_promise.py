"""Found open: nobody was told that an administrator may use a member's machine, nor that keys on a
line without TLS are keys that whoever sees the line can read. What is so is said where it is looked
for."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECURITY, PEOPLE = "SECURITY.md", "docs/operate/people.md"
PROGRAMS = "docs/protocols/compatibility.md"


def section(page: str, heading: str) -> str:
    """From that heading, or the words with which a part begins, to the next heading."""
    _, found, rest = (ROOT / page).read_text(encoding="utf-8").partition(heading)
    assert found, f"{page} has no {heading!r}"
    return rest.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("page", "heading", "words"),
    [
        (SECURITY, "## What the encryption of `init` is for", "**It protects** keys"),
        (SECURITY, "## What the encryption of `init` is for", "**It does not protect** against"),
        (SECURITY, "## What the encryption of `init` is for", "**Only TLS** keeps tokens, keys"),
        (SECURITY, "## What is not", "may use its members' machines"),
        (PEOPLE, "**Admins on members' machines.**", "`created_by`"),
        (PEOPLE, "**Admins on members' machines.**", "the strictest of the member's own agents"),
        (PEOPLE, "**Admins on members' machines.**", "stand in the audit log"),
    ],
)
def test_what_does_not_protect_and_who_may_is_said(page: str, heading: str, words: str) -> None:
    assert words in section(page, heading)


@pytest.mark.parametrize(
    ("part", "program"),
    [
        ("## Machines", "Semibot daemon of the deployed kind"),
        ("## Machines", "Semibot daemon by the document"),
        ("## Machines", "AGP app"),
        ("## Machines", "Yeaft agent"),
        ("## Machines", "on a deployed Semibot control plane"),
        ("## Machines", "on a deployed Yeaft server"),
        ("## Clients", "MyAgent page"),
        ("## Clients", "Yeaft page"),
    ],
)
def test_which_programs_work_with_what_and_what_does_not_is_said(part: str, program: str) -> None:
    rows = [line.strip("| ").split(" | ") for line in section(PROGRAMS, part).splitlines()]
    [header] = [row for row in rows if row[0] == "program"]
    assert header == ["program", "settings", "works", "does not, and why"]
    named = [row for row in rows if program in row[0]]
    assert named
    assert all(len(row) == len(header) and all(row) for row in named)
