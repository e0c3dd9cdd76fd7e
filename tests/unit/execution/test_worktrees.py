"""A session's own worktree: what it did is shown, applied as a whole, thrown away, or kept."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.git import committed, git
from trunkline.execution.errors import RequestFailed, StartFailed
from trunkline.execution.worktrees import Worktrees

SESSION = "s-1"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("one\ntwo\nthree\n" + "more\n" * 20 + "last\n")
    (folder / "gone.txt").write_text("to be removed\n")
    (folder / ".gitignore").write_text("*.log\n")
    return committed(folder)


@pytest.fixture
def worktrees(tmp_path: Path) -> Worktrees:
    return Worktrees(tmp_path / "worktrees")


def changes(told: dict[str, object]) -> dict[str, str]:
    files = told["files"]
    assert isinstance(files, list)
    return {one["path"]: one["change"] for one in files}


async def work(worktrees: Worktrees, repository: Path) -> Path:
    """A worktree with something committed, changed, removed and new in it."""
    tree = await worktrees.make(SESSION, repository)
    (tree / "src" / "app.py").write_text("ONE\ntwo\nthree\n" + "more\n" * 20 + "last\n")
    git(tree, "commit", "-qam", "the agent's own")
    (tree / "gone.txt").unlink()
    (tree / "new.bin").write_bytes(bytes(range(256)))
    (tree / "noise.log").write_text("ignored")
    return tree


async def test_it_has_what_was_committed_and_the_folder_that_was_chosen(
    worktrees: Worktrees, repository: Path
) -> None:
    (repository / "gone.txt").write_text("not committed")
    place = await worktrees.make(SESSION, repository / "src")
    assert place.name == "src"
    assert (place / "app.py").read_text().startswith("one\n")
    assert (place.parent / "gone.txt").read_text() == "to be removed\n"
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "branch", "--show-current").strip() == f"trunkline/{SESSION}"
    assert await worktrees.make(SESSION, repository / "src") == place == worktrees.known(SESSION)
    assert git(repository, "branch", "--show-current").strip() == "main"


async def test_a_pipe_that_a_session_left_in_the_repository_keeps_nobody_else(
    worktrees: Worktrees, repository: Path
) -> None:
    await worktrees.make(SESSION, repository)
    [named] = (repository / ".git" / "worktrees").glob("*/gitdir")
    named.unlink()
    os.mkfifo(named)
    with suppress(TimeoutError):  # git itself waits for it, and is ended
        async with asyncio.timeout(0.3):
            await worktrees.make("s-2", repository)


async def test_what_is_thrown_away_is_written_nowhere_else(
    worktrees: Worktrees, repository: Path, tmp_path: Path
) -> None:
    tree = await work(worktrees, repository)
    [index] = (repository / ".git" / "worktrees").glob("*/index")
    index.unlink()
    index.symlink_to(tmp_path / "planted")
    await worktrees.discard(SESSION, is_open=True)
    assert not (tmp_path / "planted").exists()
    assert git(tree, "status", "--porcelain") == ""


async def test_the_diff_is_everything_since_it_began(
    worktrees: Worktrees, repository: Path
) -> None:
    tree = await work(worktrees, repository)
    told = await worktrees.diff(SESSION)
    assert changes(told) == {
        "src/app.py": "modified",
        "gone.txt": "deleted",
        "new.bin": "created",
    }
    assert "-one\n+ONE\n" in told["diff"]
    assert (told["truncated"], told["applied"]) == (False, False)
    assert told["folder"] == str(tree)
    # Nothing of it was staged for whoever works there.
    assert git(tree, "diff", "--cached", "--name-only") == ""


async def test_names_in_any_script_are_shown_as_they_are_and_applied(
    worktrees: Worktrees, repository: Path
) -> None:
    tree = await worktrees.make(SESSION, repository)
    name = '中文 "é"\tx.txt'
    for one in ("中文.txt", name):
        (tree / one).write_text("你好\n")
    told = await worktrees.diff(SESSION)
    assert changes(told) == {"中文.txt": "created", name: "created"}
    assert "+++ b/中文.txt\n" in str(told["diff"])
    assert '"b/中文 \\"é\\"\\tx.txt"' in str(told["diff"])  # quoted for what would mislead
    await worktrees.apply(SESSION)
    assert (repository / "中文.txt").read_text() == (repository / name).read_text() == "你好\n"


async def test_it_is_applied_beside_what_the_user_has_changed_since(
    worktrees: Worktrees, repository: Path
) -> None:
    await work(worktrees, repository)
    app = repository / "src" / "app.py"
    app.write_text(app.read_text().replace("two\n", "two\nnear\n").replace("last", "LAST"))
    (repository / "mine.txt").write_text("untracked, and mine")
    done = await worktrees.apply(SESSION)
    assert sorted(done["files"]) == ["gone.txt", "new.bin", "src/app.py"]
    assert app.read_text() == "ONE\ntwo\nnear\nthree\n" + "more\n" * 20 + "LAST\n"
    assert not (repository / "gone.txt").exists()
    assert (repository / "new.bin").read_bytes() == bytes(range(256))
    assert (repository / "mine.txt").read_text() == "untracked, and mine"
    assert not (repository / "noise.log").exists()
    # As changes that are not committed, nor staged.
    assert git(repository, "diff", "--cached", "--name-only") == ""
    assert git(repository, "log", "--oneline", "main").count("\n") == 1
    assert (await worktrees.diff(SESSION))["applied"] is True
    assert (await worktrees.apply(SESSION))["files"] == []


async def test_a_conflict_is_told_and_nothing_is_applied(
    worktrees: Worktrees, repository: Path
) -> None:
    await work(worktrees, repository)
    app = repository / "src" / "app.py"
    app.write_text(app.read_text().replace("one", "another"))
    (repository / "new.bin").write_bytes(b"mine")
    before = git(repository, "status", "--porcelain")
    with pytest.raises(RequestFailed) as refused:
        await worktrees.apply(SESSION)
    assert refused.value.code == "APPLY_CONFLICT"
    assert "src/app.py" in refused.value.message
    assert git(repository, "status", "--porcelain") == before
    assert app.read_text().startswith("another\n")
    assert (repository / "gone.txt").exists()


async def test_an_open_session_goes_on_after_its_work_was_discarded(
    worktrees: Worktrees, repository: Path
) -> None:
    tree = await work(worktrees, repository)
    git(tree, "checkout", "-qb", "elsewhere")
    await worktrees.discard(SESSION, is_open=True)
    assert (await worktrees.diff(SESSION))["files"] == []
    assert (tree / "gone.txt").exists()
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-parse", "HEAD") == git(repository, "rev-parse", "main")


async def test_a_closed_one_leaves_nothing(worktrees: Worktrees, repository: Path) -> None:
    tree = await work(worktrees, repository)
    await worktrees.discard(SESSION, is_open=False)
    assert not tree.exists()
    assert "trunkline" not in git(repository, "branch", "--all")
    assert git(repository, "worktree", "list").count("\n") == 1
    with pytest.raises(RequestFailed) as refused:
        await worktrees.diff(SESSION)
    assert refused.value.code == "NO_WORKTREE"


async def test_the_end_of_a_session_keeps_only_what_nobody_has_applied(
    worktrees: Worktrees, repository: Path
) -> None:
    tree = await work(worktrees, repository)
    assert await worktrees.close(SESSION) == tree
    assert tree.exists()
    await worktrees.apply(SESSION)
    assert await worktrees.close(SESSION) is None
    assert not tree.exists()
    await worktrees.make("s-2", repository)
    assert await worktrees.close("s-2") is None
    assert git(repository, "worktree", "list").count("\n") == 1


async def test_a_fork_has_the_same_files_and_its_own_branch(
    worktrees: Worktrees, repository: Path
) -> None:
    tree = await work(worktrees, repository)
    copy, _ = await worktrees.forked(SESSION, "s-2")
    assert (copy / "src" / "app.py").read_text().startswith("ONE\n")
    assert not (copy / "gone.txt").exists()
    assert (copy / "new.bin").exists()
    assert changes(await worktrees.diff("s-2")) == changes(await worktrees.diff(SESSION))
    assert git(copy, "status", "--porcelain") == git(tree, "status", "--porcelain")
    (copy / "new.bin").unlink()
    assert (tree / "new.bin").exists()


@pytest_asyncio.fixture
async def three_turns(worktrees: Worktrees, repository: Path) -> Path:
    """The worktree of a session that has worked for so many."""
    tree = await worktrees.make(SESSION, repository)
    await worktrees.keep_turn(SESSION, "t1")
    (tree / "src" / "app.py").write_text("second\n")
    git(tree, "commit", "-qam", "the agent's own")
    (tree / "new.txt").write_text("second")
    await worktrees.keep_turn(SESSION, "t2")
    (tree / "new.txt").write_text("third")
    (tree / "gone.txt").unlink()
    git(tree, "add", "--all")
    git(tree, "commit", "-qm", "more of it")
    await worktrees.keep_turn(SESSION, "t3")
    return tree


async def test_a_fork_has_the_files_of_its_turn(
    worktrees: Worktrees, repository: Path, three_turns: Path
) -> None:
    first, as_of = await worktrees.forked(SESSION, "s-2", "t1")
    assert as_of == "turn"
    assert changes(await worktrees.diff("s-2")) == {}
    assert git(first, "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")
    second, _ = await worktrees.forked(SESSION, "s-3", "t2")
    assert (second / "new.txt").read_text() == "second"
    assert (second / "src" / "app.py").read_text() == "second\n"
    assert (second / "gone.txt").exists()
    assert git(second, "status", "--porcelain").strip() == "?? new.txt"
    assert git(repository, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        *(f"refs/heads/trunkline/s-{number}" for number in range(1, 4)),
    ]


async def test_a_fork_of_a_fork_has_the_files_of_the_turn_that_both_have(
    worktrees: Worktrees, three_turns: Path
) -> None:
    turns = {"t1": "c1", "t2": "c2", "t3": "c3"}
    copy, _ = await worktrees.forked(SESSION, "s-2", "t3", turns)
    (copy / "new.txt").write_text("of its own")
    await worktrees.keep_turn("s-2", "own")
    # The copy has all that it needs.
    await worktrees.discard(SESSION, is_open=False)
    again, as_of = await worktrees.forked("s-2", "s-3", "c2", {"c1": "d1", "c2": "d2"})
    assert as_of == "turn"
    assert (again / "new.txt").read_text() == "second"
    assert (again / "gone.txt").exists()
    third, as_of = await worktrees.forked("s-3", "s-4", "d1")
    assert as_of == "turn"
    assert not (third / "new.txt").exists()
    own, as_of = await worktrees.forked("s-2", "s-5", "own")
    assert as_of == "turn"
    assert (own / "new.txt").read_text() == "of its own"


async def test_of_a_turn_that_was_not_kept_a_fork_has_the_nearest_files_that_are_known(
    worktrees: Worktrees, three_turns: Path
) -> None:
    copy, as_of = await worktrees.forked(SESSION, "s-2", "t0", {"t0": "c0", "t1": "c1"})
    assert as_of == "now"
    assert (copy / "new.txt").read_text() == "third"
    (copy / "new.txt").write_text("of its own")
    inherited, as_of = await worktrees.forked("s-2", "s-3", "c0")
    assert as_of == "beginning"
    assert (inherited / "new.txt").read_text() == "third"
    own, as_of = await worktrees.forked("s-2", "s-4", "a turn of its own")
    assert as_of == "now"
    assert (own / "new.txt").read_text() == "of its own"


async def test_files_that_copies_share_count_once_among_them(
    worktrees: Worktrees, three_turns: Path, tmp_path: Path
) -> None:
    await worktrees.forked(SESSION, "s-2", "t3", {"t3": "c3"})
    places = [tmp_path / "worktrees" / name / "turns" / "objects" for name in (SESSION, "s-2")]
    theirs, ours = (
        {one.relative_to(place): one.stat().st_ino for one in place.rglob("*") if one.is_file()}
        for place in places
    )
    assert theirs == ours != {}


async def test_a_turn_that_cannot_be_kept_ends_nothing(
    worktrees: Worktrees, repository: Path, tmp_path: Path
) -> None:
    await worktrees.keep_turn("nobody", "t1")
    tree = await worktrees.make(SESSION, repository)
    (tmp_path / "worktrees" / SESSION / "turns").write_text("no folder")
    await worktrees.keep_turn(SESSION, "t1")
    assert tree.exists()


async def test_a_folder_without_a_repository_or_a_commit_is_refused(
    worktrees: Worktrees, tmp_path: Path
) -> None:
    for name, words in (("plain", "not in a git repository"), ("empty", "no commit yet")):
        folder = tmp_path / name
        folder.mkdir()
        if name == "empty":
            git(folder, "init", "-q")
        with pytest.raises(StartFailed) as refused:
            await worktrees.make(SESSION, folder)
        assert refused.value.code == "WORKSPACE_REFUSED"
        assert words in refused.value.message
        assert worktrees.known(SESSION) is None


async def test_a_repository_that_the_machine_does_not_allow_is_not_copied(
    repository: Path, tmp_path: Path
) -> None:
    """A folder may be a part of one, or only say that it is one."""
    said = tmp_path / "said"
    said.mkdir()
    for folder in (repository / "src", said):
        (said / ".git").write_text(f"gitdir: {repository / '.git'}\n")
        worktrees = Worktrees(tmp_path / "worktrees", folder.__eq__)
        with pytest.raises(StartFailed) as refused:
            await worktrees.make(SESSION, folder)
        assert "--root" in refused.value.message
        assert "trunkline" not in git(repository, "branch")


async def test_nothing_is_applied_to_what_a_link_leads_to(
    worktrees: Worktrees, repository: Path, tmp_path: Path
) -> None:
    await work(worktrees, repository)
    repository.rename(tmp_path / "moved")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    repository.symlink_to(elsewhere)
    with pytest.raises(RequestFailed) as refused:
        await worktrees.apply(SESSION)
    assert refused.value.code == "GIT_FAILED"
    assert list(elsewhere.iterdir()) == []


async def test_no_program_that_a_repository_names_is_run(
    worktrees: Worktrees, repository: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "ran"
    spring = f"touch {trap}; cat"
    hooks = repository / ".git" / "hooks"
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)
    for key in (
        *("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command"),
        *("merge.x.driver", "core.fsmonitor", "diff.external", "core.pager", "core.editor"),
        *("gpg.program", "core.sshCommand", "core.alternateRefsCommand"),
    ):
        git(repository, "config", key, spring)
    (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    git(repository, "-c", "core.fsmonitor=", "update-index", "--add", ".gitattributes")
    git(
        repository,
        *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "commit", "-qm", "trap"),
    )
    trap.unlink(missing_ok=True)
    tree = await worktrees.make(SESSION, repository)
    (tree / "src" / "app.py").write_text("ONE\n")
    (tree / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere'}\n")
    await worktrees.diff(SESSION)
    app = repository / "src" / "app.py"
    app.write_text(app.read_text().replace("last", "LAST"))
    with pytest.raises(RequestFailed):
        await worktrees.apply(SESSION)
    app.write_text(app.read_text().replace("LAST", "last"))
    await worktrees.apply(SESSION)
    assert app.read_text() == "ONE\n"
    await worktrees.forked(SESSION, "s-2")
    await worktrees.discard(SESSION, is_open=True)
    await worktrees.discard(SESSION, is_open=False)
    assert not trap.exists()
