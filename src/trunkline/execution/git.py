"""git in a repository that nobody vouches for: bounded, and none of the repository's own programs.

A repository's configuration names programs (filters, hooks, drivers, monitors). What looks at files
therefore works with a `View`: a git folder of our own, in which only objects are the repository's.
Where its refs have to change, hooks and monitors are switched off by name.
"""

import asyncio
import os
import resource
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from trunkline import limits
from trunkline.execution.beneath import open_beneath
from trunkline.execution.errors import GitFailed
from trunkline.execution.process.programs import children

GIT_S_MAX = 15.0  # of one command; whoever asked over a line waits 20 s
GIT_MEMORY_BYTES = 2 * limits.GIB  # a repository's own small files may have no end
GIT_OUTPUT_BYTES_MAX = 64 * limits.MIB
INDEX_BYTES_MAX = 128 * limits.MIB
CHANGED_BYTES_MAX = 256 * limits.MIB  # in files that differ from the commit they began with

_CHUNK_BYTES = 64 * 1024
_WORDS_CHARS_MAX = 500
# What the user chose that changes which bytes a file has, and names no program.
_TAKEN_OVER = r"^(core\.(autocrlf|eol|filemode|ignorecase|symlinks)|extensions\.objectformat)$"
_VALUES = ("true", "false", "input", "lf", "crlf", "native", "sha1", "sha256")
_SAFE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",  # people read the names, in whatever script
    "core.sshCommand": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "commit.gpgSign": "false",
}
_SAFE_ENV = {
    "GIT_CONFIG_COUNT": str(len(_SAFE)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(_SAFE)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_SAFE.values())},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches what it lacks
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "LC_ALL": "C.UTF-8",
    **{f"GIT_{who}_NAME": "Trunkline" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "trunkline@localhost" for who in ("AUTHOR", "COMMITTER")},
}


class Output(NamedTuple):
    code: int
    out: bytes
    words: str
    """What it said on stderr."""

    @property
    def text(self) -> str:
        return self.out.decode(errors="surrogateescape").strip()


async def git(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    fine: tuple[int, ...] = (0,),
    within_s: float = GIT_S_MAX,
    bytes_max: int = GIT_OUTPUT_BYTES_MAX,
) -> Output:
    """Runs it; `given` is its input. Raises GitFailed, also for another exit code than `fine`."""
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        process = await children.start(
            "git",
            *arguments,
            cwd=cwd,
            env={**known, **_SAFE_ENV, **(env or {})},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            process_group=0,
        )
    except FileNotFoundError as error:
        is_gone = error.filename == str(cwd)
        why = f"{cwd} is gone" if is_gone else "git is not installed on this machine"
        raise GitFailed(why) from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error
    with suppress(OSError, ValueError):  # it has ended already, or has less
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (GIT_MEMORY_BYTES, GIT_MEMORY_BYTES))
    try:
        async with asyncio.timeout(within_s):
            out, words, _ = await asyncio.gather(
                _read(process.stdout, bytes_max),
                _read(process.stderr, _CHUNK_BYTES, is_cut=True),
                _write(process.stdin, given),
            )
            code = await process.wait()
    except TimeoutError:
        raise GitFailed(f"git {arguments[0]} took longer than {within_s:g} s") from None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    said = words.decode(errors="replace").strip()
    if code not in fine:
        raise GitFailed(f"git {arguments[0]}: {said[-_WORDS_CHARS_MAX:] or f'exit code {code}'}")
    return Output(code, out, said)


async def _read(
    stream: asyncio.StreamReader | None, bytes_max: int, *, is_cut: bool = False
) -> bytes:
    assert stream is not None
    found = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        if len(found) + len(chunk) <= bytes_max:
            found += chunk
        elif not is_cut:
            raise GitFailed(f"git printed more than {bytes_max // limits.MIB} MiB")
    return bytes(found)


async def _write(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    assert stream is not None
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
        stream.close()


class Repository(NamedTuple):
    """Where a folder's repository is. `own`: the git folder of this very working tree, `common`
    that of the whole repository; the same but in a worktree."""

    top: Path
    own: Path
    common: Path


async def repository_of(folder: Path) -> Repository | None:
    """None where there is none, or where its working tree is somewhere else than it says."""
    asked = ("--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    try:
        found = await git("rev-parse", *asked, cwd=folder)
    except GitFailed:
        return None
    lines = found.out.decode(errors="surrogateescape").splitlines()
    if len(lines) != len(asked) - 1:
        return None
    found_at = Repository(*(_real(one) for one in lines))
    return found_at if _real(folder).is_relative_to(found_at.top) else None


def _real(path: Path | str) -> Path:
    return Path(path).resolve()


class View:
    """A git folder of our own that looks at the files of a working tree. Objects that are made
    here stay here; those of the repository, and of another view (`beside`), are seen too."""

    def __init__(self, folder: Path, tree: Path, *objects: Path) -> None:
        self.tree = tree
        self.index = folder / "index"
        self.objects = folder / "objects"
        self._env = {
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str(self.index),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(map(str, objects)),
        }

    async def git(
        self, *arguments: str, index: Path | None = None, cwd: Path | None = None, **options: Any
    ) -> Output:
        """`index`: another one than the view's own. `cwd`: where names of files begin."""
        env = {**self._env, "GIT_INDEX_FILE": str(index)} if index else self._env
        return await git(*arguments, cwd=cwd or self.tree, env=env, **options)

    async def changed(self, within: Path | None = None) -> list[str]:
        """Files that are not as the index has them: changed, new or gone. Ignored ones are not
        looked at. `within` a folder of the tree, from where they are named."""
        wanted = ("--modified", "--others", "--exclude-standard")
        return _names(await self.git("ls-files", "-z", *wanted, cwd=within))

    async def indexed(self, within: Path, names: Sequence[str]) -> list[str]:
        """Those of these files that the index has."""
        found = await self.git("ls-files", "-z", "--cached", "--", *names, cwd=within)
        return _names(found)

    async def contents(
        self, within: Path, names: Sequence[str], bytes_max: int
    ) -> dict[str, bytes]:
        """As the index has them. Raises GitFailed where that is more than `bytes_max`."""
        asked = "".join(f":./{name}\n" for name in names).encode(errors="surrogateescape")
        options: dict[str, Any] = {"given": asked, "bytes_max": bytes_max, "cwd": within}
        rest = (await self.git("cat-file", "--batch", **options)).out
        found: dict[str, bytes] = {}
        for name in names:
            head, _, rest = rest.partition(b"\n")
            words = head.split()
            if len(words) == 3 and words[1] == b"blob":
                size = int(words[2])
                found[name], rest = rest[:size], rest[size + 1 :]
        return found

    async def written(self) -> str:
        """All files that are not ignored, as a tree of git's; its id. Raises GitFailed where too
        much has changed to be copied."""
        sizes = await asyncio.to_thread(_sizes, self.tree, await self.changed())
        if sizes > CHANGED_BYTES_MAX:
            most = CHANGED_BYTES_MAX // limits.MIB
            raise GitFailed(
                f"files of {sizes // limits.MIB} MiB were changed or made, more than {most} MiB:"
                " add what is not meant to be kept to .gitignore"
            )
        await self.git("add", "--all")
        return (await self.git("write-tree")).text


def _names(output: Output) -> list[str]:
    names = output.out.decode(errors="surrogateescape").split("\0")
    return sorted(set(filter(None, names)))


def _sizes(tree: Path, names: list[str]) -> int:
    total = 0
    for name in names:
        with suppress(OSError):
            total += (tree / name).lstat().st_size
    return total


async def config_of(repository: Repository) -> str:
    """For views of it: what its user chose, and nothing that runs."""
    asked = ("config", "-z", "--get-regexp", _TAKEN_OVER)
    where = {"GIT_DIR": str(repository.common)}
    return _config((await git(*asked, cwd=repository.top, fine=(0, 1), env=where)).text)


def make_view(
    folder: Path, repository: Repository, config: str, beside: View | None = None
) -> View:
    """In `folder`, which is made. Its index is the repository's, so that what has not changed
    since is not read."""
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (folder / "config").write_text(config, encoding="utf-8")
    for source in (repository.own / "index", *repository.own.glob("sharedindex.*")):
        _copy(repository.own, source.name, folder / source.name)
    _copy(repository.common, "info/exclude", folder / "info" / "exclude")
    more = () if beside is None else (beside.objects,)
    return View(folder, repository.top, repository.common / "objects", *more)


def _copy(root: Path, name: str, target: Path) -> None:
    """A plain file, with its time: git distrusts what was changed after its index was written."""
    try:
        handle, about = open_beneath(root, name)
    except FileNotFoundError:
        target.unlink(missing_ok=True)
        return
    with os.fdopen(handle, "rb") as source:
        if about.st_size > INDEX_BYTES_MAX:
            raise GitFailed(f"{name} has {about.st_size // limits.MIB} MiB")
        target.write_bytes(source.read(INDEX_BYTES_MAX))
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _config(chosen: str) -> str:
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    for entry in filter(None, chosen.split("\0")):
        name, _, value = entry.partition("\n")
        if value in _VALUES:
            section, _, key = name.partition(".")
            lines += [f"[{section}]", f"\t{key} = {value}"]
    return "\n".join(lines) + "\n"


@asynccontextmanager
async def view_of(repository: Repository, beside: View | None = None) -> AsyncIterator[View]:
    """One that is gone afterwards."""
    config = await config_of(repository)
    with tempfile.TemporaryDirectory(prefix="trunkline-git-") as folder:
        yield await asyncio.to_thread(make_view, Path(folder), repository, config, beside)
