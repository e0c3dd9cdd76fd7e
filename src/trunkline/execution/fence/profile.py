"""What one session may do on this machine: a value, made by the daemon, carried out by the session.

Only allows: what is not named is out of reach. A folder that holds something which no session may
see is allowed piece by piece, around it.
"""

import os
import resource
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from trunkline import limits
from trunkline.execution.fence.hosts import Reach
from trunkline.execution.fence.seccomp import Network

Mode = Literal["require", "auto", "off"]

FILE_BYTES_MAX = 16 * limits.GIB  # of one file that a session writes
MEMORY_BYTES_MIN = 2 * limits.GIB  # that a session may use on however small a machine
MEMORY_PART = 0.5  # of a machine's memory, for one session with all that it starts
PROCESSES_MAX = 512  # that a session's commands have at once
TASKS_MAX = 2_048  # processes and threads that the kernel lets a session have, itself included

SHARED_MEMORY_BYTES_MAX = 256 * limits.MIB  # of a session that has its own

TEMPORARY, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - what every program expects
PRIVATE = (TEMPORARY, SHARED_MEMORY)
"""What a session has for itself where it has mounts of its own."""

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc"),
    *("/sys", "/nix", "/gnu", "/snap", "/run/current-system", "/run/systemd/resolve"),
    *("/run/resolvconf", "/run/NetworkManager/resolv.conf", "/var/lib/dpkg", "/var/lib/apt"),
    *("/var/lib/alternatives", "/var/lib/snapd", "/var/cache/fontconfig", "/mnt/wsl/resolv.conf"),
)
_DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"),
    *("/dev/ptmx", "/dev/pts"),
)
# Programs and their settings, below the home of the user that the machine runs as.
_TOOLCHAINS = (
    *(".gitconfig", ".config/git", ".config/pip", ".config/uv", ".config/npm", ".config/go"),
    *(".pyenv", ".rbenv", ".nvm", ".volta", ".fnm", ".asdf", ".sdkman", ".jenv", ".deno", ".bun"),
    *(".cargo", ".rustup", ".ghcup", ".cabal", ".juliaup", ".julia", ".dotnet", ".gradle", ".m2"),
    *("go", ".go", "miniconda3", "anaconda3", ".conda", ".local/bin", ".local/lib"),
    *(".local/share/uv", ".local/share/pipx", ".local/share/pnpm", ".local/share/mise"),
    *(".local/share/virtualenv", ".nix-profile", ".npm-global", ".condarc"),
)
_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials"),
    *(".config/gcloud", ".config/gh", ".config/hub", ".config/trunkline", ".npmrc", ".pypirc"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".password-store"),
    *(
        ".local/share/trunkline",
        ".local/share/trunkline-machines",
        ".mozilla",
        ".config/google-chrome",
        ".config/chromium",
        ".local/share/keyrings",
    ),
)
# Of /etc where root runs a machine: for others the system itself keeps the rest closed.
_ETC_FOR_ROOT = (
    *("alternatives", "apt", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "default"),
    *("crypto-policies", "debian_version", "dpkg", "environment", "fonts", "gai.conf", "gitconfig"),
    *(
        "gnutls",
        "group",
        "host.conf",
        "hostname",
        "hosts",
        "inputrc",
        "java-17-openjdk",
        "ld.so.cache",
    ),
    *("ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs"),
    *("machine-id", "magic", "mailcap", "maven", "mime.types", "mtab", "nanorc", "networks"),
    *("npmrc", "nsswitch.conf", "os-release", "passwd", "perl", "php", "pip.conf", "pki/tls/certs"),
    *("pki/ca-trust", "profile", "profile.d", "protocols", "python3", "resolv.conf", "rpc"),
    *("services", "shells", "skel", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
    *("vim", "wgetrc", "xdg", "xml"),
)


class Mounts(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """Of a session that has its own: what it does not write there is read-only."""

    hidden: list[str] = []
    """What is not there for it, but for its own places and what is `kept`."""
    kept: list[str] = []
    folders: list[str] = []
    """That it works in, whole, whatever parts of them it may write."""
    closed: list[str] = []
    """Of these."""
    private: list[str] = []
    """Of `PRIVATE`."""


class Profile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Full paths. Commands have `read`, `write` and `temp`; the session's own process `own` too."""

    mode: Mode = "auto"
    kind: Literal["session", "program"] = "session"
    """`program`: the driver of another maker's program, which reads and writes where that does."""
    hidden: list[str] = []
    """Folders that a program does not see, but for what is `kept` of them."""
    kept: list[str] = []
    mounts: Mounts | None = None
    landlock_abi: int = 0
    """What the kernel knows of Landlock, or is taken to know."""
    read: list[str] = []
    write: list[str] = []
    own: list[str] = []
    temp: str = ""
    received: str = ""
    """The files that people sent, which commands read."""
    granted: list[str] = []
    """What a person has let one command read besides."""
    sockets: list[str] = []
    """Of other programs, to which a person has let one command connect."""
    cache: str = ""
    network: Network = "open"
    hosts: list[str] = []
    """With the network `list`: names, or `*.name` for all below one."""
    proxy: str = ""
    """Its address, with the session's own password."""
    proxy_port: int = 0
    memory_bytes: int = 0
    file_bytes: int = FILE_BYTES_MAX
    processes: int = PROCESSES_MAX
    tasks: int = TASKS_MAX
    group: str = ""
    """The control group that it enters, where there is one."""
    told: str = ""
    """What is in force, in words."""

    @property
    def reach(self) -> Reach:
        return Reach(self.network, self.hosts)


def system(home: Path, env: Mapping[str, str], hidden: Sequence[Path]) -> list[str]:
    """What every session may read: the system, programs, toolchains. `home` is that of the user
    whose machine it is."""
    etc = [f"/etc/{name}" for name in _ETC_FOR_ROOT] if os.geteuid() == 0 else ["/etc"]
    more = [*etc, *(str(home / name) for name in _TOOLCHAINS)]
    more += [str(place) for place in _program_folders(env, home)]
    more += [sys.prefix, sys.base_prefix, str(Path(__file__).parents[3])]
    avoided = [*hidden, *secrets(home)]
    found = (place for path in (*_SYSTEM, *more) for place in without(Path(path), avoided))
    return _outermost({os.path.realpath(path) for path in found if path.exists()})


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that others hold already."""
    kept: list[str] = []
    for path in sorted(paths):
        if not kept or not path.startswith(kept[-1].rstrip("/") + "/"):
            kept.append(path)
    return kept


def devices() -> list[str]:
    return list(_DEVICES)


def private(used: Iterable[str]) -> list[str]:
    """Of `PRIVATE`, what nothing that is `used` is or holds."""
    names = set(used)
    return [
        place
        for place in PRIVATE
        if names.isdisjoint([place, *map(str, Path(place).parents)])
        and Path(place).is_dir()
        and is_real(place)
    ]


def secrets(home: Path) -> list[Path]:
    """What no session sees, even in a folder that it works in."""
    return [home / name for name in _SECRETS]


def _program_folders(env: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Where PATH leads; a folder `bin` has what it needs beside it."""
    for part in env.get("PATH", "").split(os.pathsep):
        folder = Path(part)
        if not folder.is_absolute() or folder in (home, Path("/")):
            continue
        prefix = folder.parent
        kept_out = (home, *home.parents, home / ".local", Path("/tmp"))  # noqa: S108
        if folder.name == "bin" and prefix not in kept_out:
            yield prefix
        yield folder


def without(path: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """The path, if nothing hidden is in it; else what is in it beside that, but for links."""
    place = os.path.realpath(path)
    names = [str(one) for one in hidden]
    if any(_holds(name, place) for name in names):
        return
    inner = [name for name in names if _holds(place, name) and os.path.lexists(name)]
    if not inner:
        yield path
        return
    try:
        entries = sorted(Path(place).iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        yield from without(entry, [Path(name) for name in inner])


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Git(msgspec.Struct):
    """What git needs outside of the folder that a session works in."""

    read: list[str] = []
    write: list[str] = []


def git_folders(workspace: Path, roots: Sequence[Path]) -> Git:
    """Of a worktree, and of a folder inside of a repository, below what this machine allows. A
    worktree never writes the configuration or the hooks of its repository."""
    for folder in (workspace, *workspace.parents):
        if not any(folder.is_relative_to(root) for root in roots):
            return Git()
        marker = folder / ".git"
        try:
            kind = marker.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(kind):
            return _of_worktree(marker, folder, roots)
        is_above = folder != workspace and stat.S_ISDIR(kind)
        return Git(write=[str(marker)]) if is_above else Git()
    return Git()


def _of_worktree(marker: Path, folder: Path, roots: Sequence[Path]) -> Git:
    """Its `.git` names its own part of the repository, which names the rest, and names it back.
    A session may have written all of it: only what lies where it says it does is opened."""
    try:
        own = (folder / _line(marker).removeprefix("gitdir:").strip()).resolve()
        common = (own / _line(own / "commondir")).resolve()
        back = Path(_line(own / "gitdir")).resolve()
    except (OSError, RuntimeError, ValueError):
        return Git()
    if back != marker.resolve() or own.parent != common / "worktrees":
        return Git()  # somebody wrote it by hand, to be let in elsewhere
    if not any(common.is_relative_to(root) for root in roots):
        return Git()
    write = [str(common / name) for name in ("objects", "refs", "logs")]
    return Git(read=[str(common)], write=[path for path in (*write, str(own)) if is_real(path)])


def _line(path: Path) -> str:
    """Of a small file that a session may have put there: no pipe is waited for, no link followed.
    Raises OSError, ValueError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is no file")
        return os.read(handle, limits.FILE_PATH_CHARS_MAX).decode().strip()
    finally:
        os.close(handle)


def is_real(path: str) -> bool:
    """Whether no link is in it."""
    return os.path.realpath(path) == path


def memory_bytes() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(MEMORY_BYTES_MIN, int(total * MEMORY_PART))


def set_limits(profile: Profile) -> None:
    """The kernel's own, of this process and each below it. What is tighter already stays."""
    wanted = [(resource.RLIMIT_FSIZE, profile.file_bytes), (resource.RLIMIT_CORE, 0)]
    if profile.memory_bytes:
        wanted.append((resource.RLIMIT_DATA, profile.memory_bytes))
    for which, most in wanted:
        _, hard = resource.getrlimit(which)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (bound, bound))
