"""SKILL.md frontmatter as it occurs in the wild."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.control.errors import InvalidRequest, TrunklineError
from trunkline.control.services.skill_manifest import parse, slug


@pytest.mark.proves("004-4.7-frontmatter-suffices")
def test_name_and_description_are_enough() -> None:
    found = parse(b"---\nname: pdf\ndescription: Reads PDFs\n---\n")
    assert (found.name, found.description, found.version) == ("pdf", "Reads PDFs", None)
    assert (found.requires.binaries, found.requires.env_vars) == ([], [])


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    found = parse("\ufeff---\r\nname: pdf\r\ndescription: d\r\n---\r\nbody".encode())
    assert found.name == "pdf"


def test_text_that_strict_yaml_refuses_is_read_line_by_line() -> None:
    found = parse(
        b"---\nname: gh\ndescription: Use when: you need GitHub, e.g. `gh pr`: always\n"
        b'metadata: {"openclaw": {"requires": {"bins": ["gh"]}}}\n---\n'
    )
    assert found.description == "Use when: you need GitHub, e.g. `gh pr`: always"
    assert found.requires.binaries == ["gh"]


def test_json_style_metadata_with_trailing_commas_is_read() -> None:
    found = parse(
        b"""---
name: 1password
description: Secrets
metadata:
  {
    "openclaw":
      {
        "emoji": "x",
        "requires": { "bins": ["op", "jq"], "env": ["OP_TOKEN"] },
        "install": [ { "id": "brew", "bins": ["op"], }, ],
      },
  }
---
"""
    )
    assert found.requires.binaries == ["op", "jq"]
    assert found.requires.env_vars == ["OP_TOKEN"]


@pytest.mark.parametrize(
    "metadata",
    [
        'metadata: {"requires": {"binaries": ["python3"], "env_vars": ["KEY"]}}',
        """metadata: '{"clawdbot":{"requires":{"bins":["python3"],"env":["KEY"]}}}'""",
        "requires:\n  bins: python3\n  env: [KEY]",
        "metadata:\n  requires:\n    binaries: [python3, python3, 7, '']\n    env_vars: [KEY]",
    ],
)
@pytest.mark.proves("004-4.7-requires-of-the-package")
def test_requirements_are_found_wherever_publishers_put_them(metadata: str) -> None:
    found = parse(f"---\nname: a\ndescription: b\n{metadata}\n---\n".encode())
    assert found.requires.binaries == ["python3"]
    assert found.requires.env_vars == ["KEY"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no frontmatter", "no frontmatter"),
        ("---\nname: a\n", "no frontmatter"),
        ("---\ndescription: a\n---\n", "no name"),
        ("---\nname: a\n---\n", "no description"),
        ("---\nname: [a]\ndescription: b\n---\n", "no name"),
        ("---\nname: 'a\\nb'\ndescription: b\nversion: latest\n---\n", "not a version"),
        ("---\nname: a\ndescription: b\nversion: ../1\n---\n", "not a version"),
        ('---\nname: "a\\nb"\ndescription: b\n---\n', "one line"),
        ('---\nname: a\ndescription: "\\0"\n---\n', "not text"),
        ('---\nname: a\ndescription: "\\ud800"\n---\n', "not text"),
        ('---\nname: "\\ud800"\ndescription: b\n---\n', "one line"),
        ('---\nname: a\ndescription: b\nrequires: {env: ["\\0"]}\n---\n', "plain text"),
        (f"---\nname: {'a' * 201}\ndescription: b\n---\n", "at most 200"),
        (f"---\nname: a\ndescription: b\nx: {'y' * 17_000}\n---\n", "too long"),
        (
            "---\nname: a\ndescription: b\nrequires: {bins: ['" + "x" * 300 + "']}\n---\n",
            "too long",
        ),
    ],
)
def test_what_is_refused_says_why(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        parse(text.encode())


def test_a_manifest_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="UTF-8"):
        parse(b"---\nname: \xff\n---\n")


@pytest.mark.parametrize(
    "hostile",
    [
        "x: " + "[" * 5000,
        "x: &a [1]\ny: &b [*a, *a, *a]\nz: [*b, *b, *b]\nmetadata: {requires: {bins: *b}}",
        "x: 9" + "9" * 5000,
        "version: 0x" + "f" * 9000,
        "x: 2024-99-99",
        "? [a]\n: b",
        "!!python/object/apply:os.system ['true']",
    ],
)
def test_hostile_yaml_neither_crashes_nor_runs(hostile: str) -> None:
    try:
        found = parse(f"---\nname: a\ndescription: b\n{hostile}\n---\n".encode())
    except TrunklineError:
        return
    assert found.name == "a"


@given(st.text(max_size=200))
def test_no_frontmatter_crashes_the_reader(block: str) -> None:
    with contextlib.suppress(TrunklineError):
        parse(f"---\n{block}\n---\n".encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pdf", "pdf"),
        ("Web Search!", "web-search"),
        ("数据分析", "数据分析"),
        ("数据 分析 (v2)", "数据-分析-v2"),
        ("../../etc", "etc"),
        ("ＡＢＣ", "abc"),
        ("हिन्दी", "हिन्दी"),
    ],
)
@pytest.mark.proves("004-4.7-frontmatter-suffices")
def test_the_slug_keeps_letters_of_every_script(name: str, expected: str) -> None:
    assert slug(name) == expected


@pytest.mark.parametrize("name", ["🎉🎉", "...", "con", "NUL", "com1"])
def test_a_name_without_a_usable_slug_gets_a_stable_one(name: str) -> None:
    assert re.fullmatch(r"skill-[0-9a-f]{12}", slug(name))
    assert slug(name) == slug(name)


def test_long_names_with_the_same_beginning_stay_apart() -> None:
    assert slug("a" * 100) != slug("a" * 99)


@given(st.text(min_size=1))
def test_a_slug_is_a_safe_folder_name(name: str) -> None:
    text = slug(name)
    assert text
    assert text not in (".", "..")
    assert not re.search(r"[\s/\\:\x00-\x1f]", text)
    assert len(text.encode()) <= 255
    assert slug(text) == text
