"""Patches as models write them: put where their lines are, and refused in words that help."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.execution.tools.support import Call
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.tools.changes import change_of
from trunkline.execution.tools.patches import PATCH_FILES_MAX, parsed, updated
from trunkline.execution.tools.text_files import Paths
from trunkline.execution.tools.writing import ApplyPatch

TEN = "".join(f"{number}\n" for number in range(1, 11))


@pytest.fixture
def patch(paths: Paths, home: Home) -> ApplyPatch:
    return ApplyPatch(paths, home)


def begun(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\nb\nc\n", ["@@", " a", "-b", "+B", " c"], "a\nB\nc\n"),
        ("a\nb\nc\n", ["-b", "+B"], "a\nB\nc\n"),
        ("f\nx\ng\nx\n", ["@@ g", "-x", "+y"], "f\nx\ng\ny\n"),
        ("f\nx\ng\nx\n", ["@@", "-x", "+y", "@@", "-x", "+z"], "f\ny\ng\nz\n"),
        ("x\nx\n", ["@@", "-x", "+y", "*** End of File"], "x\ny\n"),
        ("a\n\nb\n", ["@@", " a", "", "-b", "+c"], "a\n\nc\n"),
        ("a \nb\n", ["@@", " a", "-b", "+c"], "a\nc\n"),
        ("a\r\nb\r\n", ["@@", " a", "-b", "+c"], "a\r\nc\r\n"),
        ("a\nb", ["@@", "-b", "+c"], "a\nc"),
        ("a\n", ["@@", "+b"], "a\nb\n"),
        ("a\n", ["@@", "-a"], ""),
        ("def f():\n    a\n", ["@@ def f():", "+    b"], "def f():\n    b\n    a\n"),
        (TEN, ["@@ -5,2 +5,1 @@", " 5", "-6"], TEN.replace("6\n", "")),
        (TEN, ["@@ -999,2 +5,1 @@", " 5", "-6"], TEN.replace("6\n", "")),
        ("x\n" * 9, ["@@ -5,1 +5,1 @@", "-x", "+y"], "x\n" * 4 + "y\n" + "x\n" * 4),
    ],
)
def test_a_hunk_is_put_where_its_lines_are(before: str, lines: list[str], after: str) -> None:
    [found] = parsed(begun("*** Update File: f", *lines))
    assert updated(found, before) == after


LINES = st.lists(st.sampled_from("abc"), max_size=20)


@given(before=LINES, after=LINES, opens=st.booleans())
def test_a_diff_of_our_own_makes_the_new_text_of_the_old(
    before: list[str], after: list[str], opens: bool
) -> None:
    old = "\n".join(before) + ("" if opens else "\n")
    new = "\n".join(after) + "\n"
    changed = change_of("f", old, new)
    if changed is None or not old.strip() or not new.strip():
        return
    [found] = parsed(changed.diff)
    assert updated(found, old) == new


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("hello", "no patch"),
        ("*** Begin Patch\n+x\n*** End Patch", "belongs to no file"),
        (begun("*** Add File: a", "x"), "no line of a hunk"),
        (begun("*** Update File: a", "nonsense"), "no line of a hunk"),
        (begun("*** Delete File: a", "+x"), "in no hunk"),
        (begun("*** Add File: a", "+x", "*** Delete File: a"), "twice"),
        ("@@ -1 +1 @@\n-a\n+b", "belongs to no file"),
        ("+++ b/f\n@@ -1 +1 @@\n-a\n+b", "no `---` line"),
        ("--- /dev/null\n+++ /dev/null\n", "no `---` line"),
        ("--- a/f\n+++ b/f\nGIT binary patch\nx", "binary"),
        ("\n".join(f"--- /dev/null\n+++ b/{n}" for n in range(PATCH_FILES_MAX + 1)), "at most"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        parsed(text)


async def test_files_are_changed_added_removed_and_renamed_at_once(
    patch: ApplyPatch, call: Call
) -> None:
    for name in ("change", "remove", "old"):
        call.file(name).write_text("a\nb\n")
    text = begun(
        *("*** Update File: change", "@@", " a", "-b", "+B"),
        *("*** Delete File: remove", "*** Add File: deep/new", "+n", "+"),
        *("*** Update File: old", "*** Move to: moved", "@@", "-a", "+A"),
    )
    result = await call.run(patch, patch=text)
    found = {str(one.relative_to(call.home.workspace)) for one in call.home.workspace.rglob("*")}
    assert found == {"change", "deep", "deep/new", "moved"}
    assert call.file("change").read_text() == "a\nB\n"
    assert call.file("deep/new").read_text() == "n\n\n"
    assert call.file("moved").read_text() == "A\nb\n"
    assert result.details["paths"] == ["change", "remove", "deep/new", "moved", "old"]
    assert "-b\n+B\n" in result.details["diff"]
    told = [(one["path"], one["change"]) for one in call.events if one["type"] == "file_changed"]
    assert told == [
        *(("change", "modified"), ("remove", "deleted"), ("deep/new", "created")),
        *(("moved", "created"), ("old", "deleted")),
    ]


async def test_a_patch_of_git_is_applied_as_git_would(
    patch: ApplyPatch, call: Call, tmp_path: Path
) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
            cwd=tmp_path / "git",
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    (tmp_path / "git").mkdir()
    git("init", "-q")
    for folder in (tmp_path / "git", call.home.workspace):
        (folder / "a").write_text(TEN)
        (folder / "gone").write_text("x\n")
        (folder / "old").write_text(TEN * 3)
    git("add", ".")
    git("commit", "-qm", "x")
    (tmp_path / "git" / "a").write_text(TEN.replace("2\n", "two\n").replace("9\n", "9\nmore"))
    (tmp_path / "git" / "old").rename(tmp_path / "git" / "renamed")
    (tmp_path / "git" / "renamed").write_text(TEN * 3 + "end\n")
    (tmp_path / "git" / "gone").unlink()
    (tmp_path / "git" / "made").write_text("no line end")
    git("add", "-A")
    await call.run(patch, patch=git("diff", "--cached", "-M"))
    made = {one.name: one.read_text() for one in call.home.workspace.iterdir()}
    (tmp_path / "git" / ".git").rename(tmp_path / "away")
    assert made == {one.name: one.read_text() for one in (tmp_path / "git").iterdir()}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["*** Update File: b", "@@", "-not there", "+x"], "hunk 1 does not fit b"),
        (["*** Update File: missing", "@@", "-x", "+y"], "no file missing"),
        (["*** Add File: b", "+x"], "a file b already"),
        (["*** Update File: b", "*** Move to: c", "@@", "-b", "+x"], "a file c already"),
        (["*** Delete File: ../outside"], "outside of the workspace"),
        (["*** Add File: b/below", "+x"], "a part of its path is a file"),
        (["*** Update File: link", "@@", "-a", "+x"], "twice, under two names"),
    ],
)
async def test_a_patch_that_does_not_fit_as_a_whole_changes_nothing(
    patch: ApplyPatch, call: Call, lines: list[str], reason: str
) -> None:
    for name in "abc":
        call.file(name).write_text(f"{name}\n")
    call.file("link").symlink_to("a")
    with pytest.raises(ToolError, match=reason):
        await call.run(patch, patch=begun("*** Update File: a", "@@", "-a", "+A", *lines))
    assert {one.name: one.read_text() for one in call.home.workspace.iterdir()} == {
        **{name: f"{name}\n" for name in "abc"},
        "link": "a\n",
    }
    assert call.events == []


def test_rules_and_the_order_of_calls_know_every_file_of_a_patch(
    patch: ApplyPatch, call: Call
) -> None:
    text = begun("*** Update File: a", "*** Move to: b", "@@", "-x", "*** Delete File: c")
    assert patch.paths({"patch": text}) == ["a", "b", "c"]
    assert patch.touches({"patch": text}).writes == tuple(str(call.file(one)) for one in "abc")
    assert patch.paths({"patch": "nonsense"}) == [""]
