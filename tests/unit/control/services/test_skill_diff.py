"""What a package of a skill changes, as a unified diff."""

import pytest

from trunkline.control.services import skill_diff

MANY = b"".join(b"line %d\n" % (number % 50) for number in range(3_000))

Files = dict[str, bytes]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": b"x\n"}, {"a": b"x\n"}, ""),
        ({}, {"a": b"x\ny\n"}, "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"),
        ({"s/a": b"x"}, {}, "--- a/s/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"),
        (
            {"a": b"1\n2\n", "b": b""},
            {"a": b"1\n3\n"},
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n--- a/b\n+++ /dev/null\n",
        ),
        ({"a": b"\xff"}, {"a": b"\x00"}, "Binary files a/a and b/a differ\n"),
        ({"a": b"1\r\n"}, {"a": b"1\n"}, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\r\n+1\n"),
    ],
)
def test_a_diff_names_every_file_that_differs(before: Files, after: Files, told: str) -> None:
    assert skill_diff.unified(before, after) == told


def test_a_large_file_is_told_as_replaced_and_a_huge_diff_is_cut() -> None:
    diff = skill_diff.unified({"a": MANY}, {"a": MANY + b"one more\n"})
    assert diff.startswith("--- a/a\n+++ b/a\n@@ -1,3000 +1,3001 @@\n-line 0\n")
    files = {f"{number}": b"x\n" * 2_000_000 for number in range(2)}
    cut = skill_diff.unified({}, files)
    assert len(cut) < skill_diff.DIFF_CHARS_MAX + 100
    assert cut.endswith("… the rest is too large to be shown\n")
