"""A git worktree for a session: a copy of the user's repository with a branch of its own.

Made when the session starts, below the machine's own folder. What was done there is shown as a
diff, brought onto the user's own working tree, or thrown away; it outlives its session until then.
The user's working tree is changed as a whole or not at all.
"""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.beneath import open_beneath
from trunkline.execution.errors import GitFailed, RequestFailed, StartFailed
from trunkline.execution.files import load_json, save_json, write_atomic
from trunkline.execution.git import Repository, View, git, repository_of, view_of
from trunkline.execution.json_object import Json
from trunkline.execution.worktree_turns import Forked, WorktreeTurns

_log = structlog.get_logger(__name__)

DIFF_BYTES_MAX = 4 * limits.MIB  # of a diff as it is shown
DIFF_FILES_MAX = 2_000
CONFLICTS_SHOWN_MAX = 20
CHECKOUT_S_MAX = 120.0  # for the files of a whole repository

_FOLDER = "tree"
_TURNS = "turns"
_RECORD = "worktree.json"
_SHOWN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/")
_AS_PATCH = (*_SHOWN, "--dst-prefix=b/", "--binary", "--full-index")
_OBJECT = re.compile(r"[0-9a-f]{40,64}\Z")
_CHANGES = {"A": "created", "D": "deleted"}


class Worktree(msgspec.Struct, kw_only=True):
    """As `worktree.json` has it. `repository` is the user's working tree, `base` the commit that it
    began with, `within` the folder in it that the session was given."""

    repository: str
    repository_own: str
    common: str
    own: str
    base: str
    branch: str
    within: str = ""
    applied: str = ""
    """What was brought onto the user's working tree last, as a tree of git's."""

    @property
    def user(self) -> Repository:
        return Repository(Path(self.repository), Path(self.repository_own), Path(self.common))


class Worktrees:
    """Those of a machine's sessions. `folder` holds one folder each. `allows` says of which folders
    this machine's sessions may see the files: a folder's `.git` may name a repository elsewhere."""

    def __init__(self, folder: Path, allows: Callable[[Path], bool] = lambda _folder: True) -> None:
        self._folder = folder
        self._allows = allows
        self._locks: dict[str, asyncio.Lock] = {}

    def known(self, session_id: str) -> Path | None:
        """Where a session works that has a worktree already."""
        record = self._load(session_id)
        return None if record is None else self._works_in(session_id, record)

    def writable(self, session_id: str) -> list[str]:
        """What else git writes there when the session commits: never its configuration or hooks."""
        record = self._load(session_id)
        if record is None:
            return []
        common = Path(record.common)
        return [str(common / name) for name in ("objects", "refs", "logs")] + [record.own]

    async def make(self, session_id: str, folder: Path) -> Path:
        """The same folder in a worktree of that session's own. Raises StartFailed."""
        async with self._lock(session_id):
            if (there := self.known(session_id)) is not None:
                return there
            try:
                return await self._make(session_id, folder)
            except GitFailed as error:
                await self._remove(session_id, None)
                raise StartFailed(f"worktree: {error}", code="WORKSPACE_REFUSED") from error

    async def _make(self, session_id: str, folder: Path) -> Path:
        repository = await repository_of(folder)
        if repository is None:
            raise GitFailed(f"{str(folder)[:200]!r} is not in a git repository")
        if not (self._allows(repository.top) and self._allows(repository.common)):
            raise GitFailed(
                f"its repository {str(repository.top)[:200]!r} is not below a folder that this"
                " machine allows (`trunkline node --root`)"
            )
        head = await git("rev-parse", "--verify", "HEAD^{commit}", cwd=folder, fine=(0, 128))
        if not _OBJECT.match(head.text):
            raise GitFailed("the repository has no commit yet: make a first one")
        record = Worktree(
            repository=str(repository.top),
            repository_own=str(repository.own),
            common=str(repository.common),
            own="",
            base=head.text,
            branch=f"trunkline/{session_id}",
            within=_within(folder, repository.top),
        )
        works_in = await self._add(session_id, record, head.text)
        self._save(session_id, record)
        return works_in

    async def _add(self, session_id: str, record: Worktree, commit: str) -> Path:
        """One that has no record yet: that is written when all of it is there."""
        await self._clear(session_id, record)
        tree = self._tree(session_id)
        tree.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = ("worktree", "add", "--no-checkout", "-b", record.branch, str(tree), commit)
        await git(*new, cwd=Path(record.repository), env={"GIT_DIR": record.common})
        own = await git("rev-parse", "--absolute-git-dir", cwd=tree)
        record.own = own.text
        async with self._view(session_id, record) as view:
            index = Path(record.own) / "index"
            await view.git("read-tree", commit, index=index)
            written = ("checkout-index", "--all", "-u", "--quiet")
            await view.git(*written, index=index, within_s=CHECKOUT_S_MAX)
        works_in = self._works_in(session_id, record)
        works_in.mkdir(parents=True, exist_ok=True)
        return works_in

    async def _clear(self, session_id: str, record: Worktree) -> None:
        """What a daemon left that was killed while it made this."""
        tree = self._tree(session_id)
        for own in sorted((Path(record.common) / "worktrees").glob("*")):
            if _names(own) == str(tree / ".git"):
                await self._remove(session_id, msgspec.structs.replace(record, own=str(own)))
                return
        await asyncio.to_thread(shutil.rmtree, tree.parent, ignore_errors=True)

    async def diff(self, session_id: str) -> Json:
        """Everything that differs from where it began, committed or not. Raises RequestFailed."""
        async with self._at(session_id) as record, self._view(session_id, record) as view:
            tree = await view.written()
            told = await view.git("diff", *_SHOWN, "--numstat", "-z", record.base, tree)
            kinds = await view.git("diff", *_SHOWN, "--name-status", "-z", record.base, tree)
            patch = await view.git("diff", *_SHOWN, "--dst-prefix=b/", record.base, tree)
        text = patch.out[:DIFF_BYTES_MAX].decode(errors="replace")
        files = _files(told.out, kinds.out)
        return {
            "files": files[:DIFF_FILES_MAX],
            "diff": text,
            "truncated": len(patch.out) > DIFF_BYTES_MAX or len(files) > DIFF_FILES_MAX,
            "applied": bool(files) and record.applied == tree,
            "branch": record.branch,
            "base": record.base,
            "folder": str(self._tree(session_id)),
            "repository": record.repository,
        }

    async def apply(self, session_id: str) -> Json:
        """Brings it onto the user's working tree, as changes that are not committed: all of it, or
        with a conflict none. Raises RequestFailed."""
        async with self._at(session_id) as record:
            async with (
                self._view(session_id, record) as view,
                view_of(record.user, view) as users,
            ):
                tree = await view.written()
                patch = await _patch(users, record.base, tree)
                if patch and not await _applies(users, patch):
                    patch = await _merged(users, record.base, tree)
                files = await _applied(users, patch) if patch else []
            record.applied = tree
            self._save(session_id, record)
        return {"files": files[:DIFF_FILES_MAX], "repository": record.repository}

    async def discard(self, session_id: str, *, is_open: bool) -> Json:
        """Throws it away. A session that is open goes on from where it began; what is ignored
        stays there. Raises RequestFailed."""
        async with self._at(session_id) as record:
            if is_open:
                await self._reset(session_id, record)
                record.applied = ""
                self._save(session_id, record)
            else:
                await self._remove(session_id, record)
        return {"branch": record.branch, "repository": record.repository}

    async def close(self, session_id: str) -> Path | None:
        """The session is over. Work that nobody has applied stays, and this is where; else
        everything is removed."""
        async with self._lock(session_id):
            record = self._load(session_id)
            if record is None:
                return None
            try:
                async with self._view(session_id, record) as view:
                    tree = await view.written()
                    base = (await view.git("rev-parse", f"{record.base}^{{tree}}")).text
            except GitFailed:
                return self._tree(session_id)
            if tree not in (base, record.applied):
                return self._tree(session_id)
            await self._remove(session_id, record)
            return None

    async def keep_turn(self, session_id: str, turn_id: str) -> None:
        """A turn has ended: a copy may begin with the files as they are now."""
        async with self._lock(session_id):
            if (record := self._load(session_id)) is None:
                return
            try:
                await self._turns(session_id, record).keep(turn_id)
            except (GitFailed, OSError) as error:
                _log.warning("a turn's files are not kept", session=session_id, reason=str(error))

    async def forked(
        self, source: str, target: str, turn_id: str = "", turns: Mapping[str, str] | None = None
    ) -> Forked:
        """A worktree for `target` in which everything is as it was in that of `source` at the end
        of the turn: the same commits, the same changes that were not committed. Copies of it can
        begin at the ends of `turns`, the other's names for them with its own. Raises
        StartFailed."""
        async with self._lock(source), self._lock(target):
            record = self._load(source)
            if record is None:
                raise StartFailed("the forked session has no worktree", code="WORKSPACE_REFUSED")
            copy = msgspec.structs.replace(record, own="", branch=f"trunkline/{target}", applied="")
            try:
                known = self._turns(source, record)
                moment, theirs = await known.at(turn_id)
                works_in = await self._add(target, copy, moment.head)
                async with self._view(target, copy, theirs) as view:
                    await view.git("read-tree", "-m", "-u", moment.head, moment.tree)
                try:
                    await self._turns(target, copy).take_over(known, moment, turns or {})
                except OSError as error:
                    _log.warning("earlier turns are not kept", session=target, reason=str(error))
                self._save(target, copy)
            except GitFailed as error:
                await self._remove(target, copy)
                raise StartFailed(f"worktree: {error}", code="WORKSPACE_REFUSED") from error
            return Forked(works_in, moment.as_of)

    async def _reset(self, session_id: str, record: Worktree) -> None:
        async with self._view(session_id, record) as view:
            await view.git("read-tree", "--reset", "-u", record.base)
            await view.git("clean", "-ffdq")
            # git would follow a link that the session has put in its place.
            write_atomic(Path(record.own) / "index", view.index.read_bytes())
        where = {"GIT_DIR": record.own, "GIT_COMMON_DIR": record.common}
        ref, tree = f"refs/heads/{record.branch}", self._tree(session_id)
        await git("symbolic-ref", "HEAD", ref, cwd=tree, env=where)
        await git("update-ref", ref, record.base, cwd=tree, env=where)

    async def _remove(self, session_id: str, record: Worktree | None) -> None:
        folder = self._folder / session_id
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        self._locks.pop(session_id, None)
        if record is None:
            return
        own, common = Path(record.own), Path(record.common)
        if record.own and own.parent == common / "worktrees":
            await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)
        ref, where = f"refs/heads/{record.branch}", {"GIT_DIR": record.common}
        with suppress(GitFailed):  # the repository may be gone too
            await git("update-ref", "-d", ref, cwd=common, env=where)

    @asynccontextmanager
    async def _at(self, session_id: str) -> AsyncIterator[Worktree]:
        """Its record, held. What git says against it becomes the answer."""
        async with self._lock(session_id):
            record = self._load(session_id)
            if record is None:
                raise RequestFailed("NO_WORKTREE", "this session has no worktree")
            try:
                if not _is_in_place(record):
                    raise GitFailed(f"the repository {record.repository} is another one now")
                yield record
            except GitFailed as error:
                raise RequestFailed(error.code, error.message) from error

    def _view(
        self, session_id: str, record: Worktree, beside: View | None = None
    ) -> AbstractAsyncContextManager[View]:
        return view_of(self._repository(session_id, record), beside)

    def _turns(self, session_id: str, record: Worktree) -> WorktreeTurns:
        folder = self._folder / session_id / _TURNS
        return WorktreeTurns(folder, self._repository(session_id, record))

    def _repository(self, session_id: str, record: Worktree) -> Repository:
        return Repository(self._tree(session_id), Path(record.own), Path(record.common))

    def _lock(self, session_id: str) -> asyncio.Lock:
        return self._locks.setdefault(session_id, asyncio.Lock())

    def _tree(self, session_id: str) -> Path:
        return self._folder / session_id / _FOLDER

    def _works_in(self, session_id: str, record: Worktree) -> Path:
        return self._tree(session_id) / record.within

    def _load(self, session_id: str) -> Worktree | None:
        return load_json(self._folder / session_id / _RECORD, Worktree, "a session's worktree")

    def _save(self, session_id: str, record: Worktree) -> None:
        save_json(self._folder / session_id / _RECORD, record, "a session's worktree")


def _is_in_place(record: Worktree) -> bool:
    """Whoever can write above the repository may have put a link in its place."""
    places = (Path(record.repository), Path(record.common))
    return all(place.resolve() == place for place in places)


def _names(own: Path) -> str:
    """Which working tree the git folder of one names. Its session may write there."""
    try:
        handle, _ = open_beneath(own, "gitdir")
    except FileNotFoundError:
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(limits.FILE_PATH_CHARS_MAX).decode(errors="replace").strip()


def _within(folder: Path, top: Path) -> str:
    return str(folder.resolve().relative_to(top))


async def _patch(view: View, before: str, after: str) -> bytes:
    return (await view.git("diff", *_AS_PATCH, before, after)).out


async def _applies(view: View, patch: bytes) -> bool:
    checked = await view.git("apply", "--check", "-", given=patch, fine=(0, 1, 128))
    return checked.code == 0


async def _applied(view: View, patch: bytes) -> list[str]:
    """The files that it has changed."""
    listed = await view.git("apply", "--numstat", "-z", "-", given=patch)
    await view.git("apply", "--whitespace=nowarn", "-", given=patch)
    lines = filter(None, listed.out.decode(errors="replace").split("\0"))
    return [line.split("\t", 2)[-1] for line in lines]


async def _merged(view: View, base: str, tree: str) -> bytes:
    """What to change in the user's working tree so that it has both; theirs may have gone on.
    Raises RequestFailed with the files that both have changed."""
    users = await view.written()
    mine = (await view.git("commit-tree", users, "-p", base, "-m", "yours")).text
    other = (await view.git("commit-tree", tree, "-p", base, "-m", "the session's")).text
    asked = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", mine, other)
    merged = await view.git(*asked, fine=(0, 1, 128, 129))
    found = merged.out.decode(errors="replace").split("\0")
    if merged.code == 0:
        return await _patch(view, users, found[0])
    names = [one for one in dict.fromkeys(found[1:]) if one] if merged.code == 1 else []
    shown = ", ".join(names[:CONFLICTS_SHOWN_MAX]) or "the same lines"
    raise RequestFailed(
        "APPLY_CONFLICT",
        f"both you and the session have changed {shown}: nothing was applied."
        " Commit or undo your own changes there, or merge the session's branch by hand",
    )


def _files(numbers: bytes, kinds: bytes) -> list[Json]:
    """Of `--numstat -z` and `--name-status -z`: additions, deletions and what happened to each."""
    words = kinds.decode(errors="replace").split("\0")
    change = {
        name: _CHANGES.get(kind, "modified")
        for kind, name in zip(words[0::2], words[1::2], strict=False)
    }
    found: list[Json] = []
    for line in filter(None, numbers.decode(errors="replace").split("\0")):
        added, deleted, name = line.split("\t", 2)
        found.append(
            {
                "path": name,
                "change": change.get(name, "modified"),
                # Of binary files git says "-".
                "additions": int(added) if added.isdigit() else 0,
                "deletions": int(deleted) if deleted.isdigit() else 0,
            }
        )
    return found
