"""Installs the program of a runtime into one folder of the user's, and nothing anywhere else.

It is unpacked and tried beside what is there, and only then takes its place: whenever this process
dies, the old one is there or none. For `trunkline doctor --install` and for tests.
"""

import asyncio
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from trunkline import extras, limits, names
from trunkline.execution.errors import InstallFailed
from trunkline.execution.process import family
from trunkline.execution.runtimes import programs, versions
from trunkline.execution.runtimes.packages import PACKAGES, Package
from trunkline.private_files import make_folder

INSTALL_S = 30 * 60.0  # all of it; the largest takes a minute on a good line
INSTALL_WAIT_S = 30 * 60.0  # for another installation of the same program
INSTALL_CHECK_S = 60.0  # for a program to say its version for the first time
_PROGRESS_S = 5.0
_POLL_S = 0.2
_OUTPUT_BYTES_MAX = 64 * 1024

# A version or a tag of the registry: never an address, a path or an option.
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}\Z")
_UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET"
    r"|FETCH_ERROR|CERT|SELF_SIGNED|UNABLE_TO_"
)
# What npm needs to reach a registry, also one of the user's own choice.
_PASSED = re.compile(
    r"PATH|LANG|LC_ALL|(?:https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE"
    r"|npm_config_(?:registry|cafile|ca|proxy|https_proxy|noproxy)|NPM_TOKEN",
    re.IGNORECASE,
)
_FOR_SETUP = ("HOME", "TMPDIR", "PATH", "LANG")

Tell = Callable[[str], None]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    """What the program says of itself."""
    argv: tuple[str, ...]
    folder: str
    is_new: bool
    """False: that version was there already."""


def install(
    name: str,
    folder: Path,
    *,
    tell: Tell = lambda _: None,
    env: Mapping[str, str] = os.environ,
) -> Installed:
    """`name` is one of `PACKAGES`, or that with `@VERSION`. `tell` gets sentences for people, while
    it goes on. Raises InstallFailed; what was there before is there then."""
    wanted, _, chosen = name.partition("@")
    package = PACKAGES.get(wanted)
    if package is None:
        raise InstallFailed(names.not_one_of(wanted, PACKAGES))
    version = chosen or package.version
    if _VERSION.match(version) is None or name.endswith("@"):
        raise InstallFailed(f"not a version: {version[:80]!r}")
    if programs.node() is None or programs.npm() is None:
        raise InstallFailed(f"Node is not installed here: {extras.fix('runtimes')}")
    try:
        make_folder(folder)
        with _alone(folder, wanted, tell):
            return _install(wanted, package, version, folder, tell, env)
    except OSError as error:
        raise InstallFailed(f"{folder} cannot be used: {error}") from error


def _install(
    name: str, package: Package, version: str, folder: Path, tell: Tell, env: Mapping[str, str]
) -> Installed:
    link = folder / name
    for left in folder.glob(f".{name}-new-*"):
        shutil.rmtree(left, ignore_errors=True)  # of an installation that was killed
    if link.is_symlink() and _unpacked_version(package, link) == version:
        with suppress(InstallFailed):  # it is broken, and installed anew
            return _checked(name, package, link, is_new=False)
    tell(f"installing {package.name} {version} into {folder} (about {package.size_mb} MB)")
    draft = folder / f".{name}-new-{secrets.token_hex(4)}"
    draft.mkdir(mode=0o700)
    try:
        _unpack(package, version, draft, tell, env)
        tell("checking that it starts")
        done = _checked(name, package, draft, is_new=True)
        place = folder / f".{name}-{_unpacked_version(package, draft)}-{secrets.token_hex(4)}"
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    before = link.resolve() if link.is_symlink() else None
    _lead(link, place)
    _remove_older(name, folder, kept={place, before})
    return msgspec.structs.replace(
        done, argv=programs.installed_in(link, package), folder=str(place)
    )


def _lead(link: Path, place: Path) -> None:
    """In one step: whoever looks sees what was there, or what is new."""
    draft = link.with_name(f".{link.name}-link-{secrets.token_hex(4)}")
    draft.symlink_to(place.name)
    try:
        draft.replace(link)
    except OSError:
        draft.unlink()
        raise


def _remove_older(name: str, folder: Path, kept: set[Path | None]) -> None:
    """What was just replaced may be running, and stays until the next time."""
    resolved = {one.resolve() for one in kept if one is not None}
    for place in folder.glob(f".{name}-*"):
        if place.is_symlink():
            place.unlink(missing_ok=True)  # a link of an installation that was killed
        elif place.is_dir() and place.resolve() not in resolved:
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _alone(folder: Path, name: str, tell: Tell) -> Iterator[None]:
    """One installation of a program at a time; the kernel lets go when its process ends."""
    handle = os.open(folder / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline, is_told = time.monotonic() + INSTALL_WAIT_S, False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InstallFailed(f"another installation of {name} does not end") from None
                if not is_told:
                    tell(f"another installation of {name} is running; waiting for it")
                    is_told = True
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(handle)


def _unpack(
    package: Package, version: str, place: Path, tell: Tell, env: Mapping[str, str]
) -> None:
    (place / "package.json").write_text('{"private": true}\n')
    user_config = Path(env.get("npm_config_userconfig") or Path(env.get("HOME", "/")) / ".npmrc")
    work = place / ".npm"  # what npm would keep in the user's home
    work.mkdir()
    flags = [f"--prefix={place}", f"--cache={work / 'cache'}", f"--globalconfig={work / 'global'}"]
    flags += ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--omit=dev"]
    passed = {key: value for key, value in env.items() if _PASSED.fullmatch(key)}
    passed |= {"HOME": str(work), "TMPDIR": str(work)}
    whats = [f"{package.name}@{version}", *package.beside]
    retries = ["--fetch-retries=2", "--fetch-timeout=60000", "--fetch-retry-mintimeout=1000"]
    retries += ["--fetch-retry-maxtimeout=5000"]
    user = [f"--userconfig={user_config}", "--ignore-scripts"]
    _npm(["install", *flags, *user, *retries, *whats], place, passed, tell)
    if package.has_setup:
        # A script of a stranger: it gets no login to a registry.
        bare = {key: value for key, value in passed.items() if key in _FOR_SETUP}
        nobody = [f"--userconfig={work / 'user'}", "--no-ignore-scripts", "--offline"]
        _npm(["rebuild", *flags, *nobody, package.name], place, bare, tell)
    shutil.rmtree(work, ignore_errors=True)


def _npm(arguments: list[str], place: Path, env: Mapping[str, str], tell: Tell) -> None:
    node, npm = programs.node(), programs.npm()
    assert node is not None
    assert npm is not None
    path = os.pathsep.join((str(Path(node).parent), env.get("PATH", "/usr/bin:/bin")))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603
            [node, npm, *arguments],
            cwd=place,
            env={**env, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(family.die_with, os.getpid()),
        )
        try:
            code = _waited(process, place, tell)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(max(0, output.seek(0, os.SEEK_END) - _OUTPUT_BYTES_MAX))
        if code != 0:
            raise InstallFailed(_why(output.read().decode("utf-8", "replace"), code))


def _waited(process: subprocess.Popen[bytes], place: Path, tell: Tell) -> int:
    began = told = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_POLL_S)
        now = time.monotonic()
        if now - began > INSTALL_S:
            raise InstallFailed(f"npm has not finished after {INSTALL_S:g} s")
        if now - told > _PROGRESS_S:
            told = now
            tell(f"installing it, {_size_mb(place)} MB so far")


def _size_mb(place: Path) -> int:
    total = 0
    for folder, _, files in os.walk(place):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
    return total // limits.MIB


def _why(output: str, code: int) -> str:
    """Of npm's many lines those that say it."""
    told = re.findall(r"^npm (?:error|ERR!) (.*\S)", output, re.MULTILINE)
    kind = next((line[5:] for line in told if line.startswith("code ")), "")
    text = next(
        (line for line in told if not re.match(r"code |errno |syscall |A complete", line)), ""
    )
    text = (text or " ".join(output.split())[-300:])[:300] or f"npm ended with exit code {code}"
    if kind in ("E404", "ETARGET"):
        return f"the registry has no such package or version: {text}"
    if _UNREACHABLE.search(kind):
        return (
            f"the npm registry cannot be reached ({kind}: {text}); check the network, a proxy"
            " (HTTPS_PROXY) and the registry in ~/.npmrc"
        )
    return f"{kind}: {text}" if kind else text


def _unpacked_version(package: Package, place: Path) -> str:
    """What npm has unpacked; "" if there is nothing."""
    try:
        raw = (place / "node_modules" / package.name / "package.json").read_bytes()
        return str(msgspec.json.decode(raw)["version"])[:64]
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return ""


def _checked(name: str, package: Package, place: Path, *, is_new: bool) -> Installed:
    argv = programs.installed_in(place, package)
    asked = (programs.driven_in(place, package),) if package.driven else argv
    if not argv or not asked[0]:
        raise InstallFailed(f"{package.name} was unpacked, and has no program {name}")
    said = asyncio.run(versions.asked(asked, INSTALL_CHECK_S))
    if said.problem or not said.version:
        why = said.problem or "it says no version"
        raise InstallFailed(f"{name} was unpacked, and does not start: {why}")
    return Installed(
        name=name, version=said.version, argv=argv, folder=str(place.resolve()), is_new=is_new
    )
