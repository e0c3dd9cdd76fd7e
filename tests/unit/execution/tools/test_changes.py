"""What became of a file, as readers are told: a diff that `patch` would take, within its bounds."""

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.execution.tools.support import Call
from trunkline.execution.tools.changes import (
    COMPARED_LINES_MAX,
    DIFF_CHARS_MAX,
    Content,
    change_of,
    tell_change,
)
from trunkline.execution.tools.text_files import FILE_BYTES_MAX

LINES = st.lists(st.sampled_from("abc"), max_size=30).map("\n".join)


@given(before=LINES, after=LINES)
def test_a_diff_is_the_one_that_is_known_everywhere(before: str, after: str) -> None:
    changed = change_of("f", before, after)
    if before == after:
        assert changed is None
        return
    assert changed is not None
    body = changed.diff.splitlines()[2:]
    signs = [line for line in body if not line.startswith(("@@", "\\"))]
    assert sum(line[0] == "+" for line in signs) == changed.additions
    assert sum(line[0] == "-" for line in signs) == changed.deletions


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\n", "a\nb"),
        ("a\nb", "a\nb\n"),
        ("".join(f"{n}\n" for n in range(100)), "".join(f"{n // 50}{n}\n" for n in range(100))),
        ("x\n" * 10, "x\n" * 12),
        ("x\n" * 5000 + "end\n", "y\n" * 4000 + "end\n"),
        ("", "new\n"),
    ],
)
def test_a_diff_can_be_applied(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "f"
    file.write_text(before)
    changed = change_of("f", before, after)
    assert changed is not None
    if len(changed.diff) > DIFF_CHARS_MAX:
        assert "left out" in changed.diff
        return
    subprocess.run(["patch", "-p1"], input=changed.diff, text=True, cwd=tmp_path, check=True)
    assert file.read_text() == after


def test_a_small_change_of_a_large_file_is_compared_line_by_line() -> None:
    lines = [f"{number}\n" for number in range(10 * COMPARED_LINES_MAX)]
    others = [*lines[:100], "new\n", *lines[100:]]
    changed = change_of("f", "".join(lines), "".join(others))
    assert changed is not None
    expected = difflib.unified_diff(lines[90:110], others[90:111], "a/f", "b/f")
    assert changed.diff.splitlines()[3:] == "".join(expected).splitlines()[3:]
    assert changed.diff.splitlines()[2] == "@@ -98,6 +98,7 @@"


@pytest.mark.parametrize(
    ("before", "after", "change", "counts"),
    [
        (None, "a\nb\n", "created", (2, 0)),
        ("a\n", None, "deleted", (0, 1)),
        (None, b"\0\1", "created", (0, 0)),
        (b"\xff\xfe", b"\xff", "modified", (0, 0)),
        (b"a\n", "b\n", "modified", (1, 1)),
        (None, "x" * FILE_BYTES_MAX, "created", (1, 0)),
        (None, "\n" * FILE_BYTES_MAX, "created", (FILE_BYTES_MAX, 0)),
        ("\ud800\n", "ok\n", "modified", (1, 1)),
    ],
    ids=lambda value: str(value)[:12],
)
def test_whatever_a_file_was_its_change_is_told_within_bounds(
    before: Content, after: Content, change: str, counts: tuple[int, int]
) -> None:
    changed = change_of("dir/f", before, after)
    assert changed is not None
    assert (changed.change, (changed.additions, changed.deletions)) == (change, counts)
    assert len(changed.diff) < DIFF_CHARS_MAX + 100
    changed.diff.encode()


def test_readers_get_the_new_event_beside_the_old_one(call: Call) -> None:
    tell_change(call.told_by(), "a.txt", None, "数\n")
    assert call.events == [
        {"type": "file_created", "path": "a.txt", "size": 4},
        {
            "type": "file_changed",
            "path": "a.txt",
            "change": "created",
            "diff": "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+数\n",
            "additions": 1,
            "deletions": 0,
        },
    ]
    call.events.clear()
    assert tell_change(call.told_by(), "a.txt", "same", "same") is None
    assert call.events == []
