"""A real Chromium without root, for the tests of the page: npm's `@sparticuz/chromium`, which is
built for bare machines, with the few libraries that those lack.

`install` unpacks it, once per clone, beside the other real programs.
"""

import os
import platform
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from trunkline.execution.errors import InstallFailed
from trunkline.execution.runtimes import programs

NAME = "chromium"
VERSION = "153.0.0"
_PACKAGE = "@sparticuz/chromium"
_SIZE_MB = 250
_INSTALL_S = 600.0
_START_S = 30.0
_INFLATE = "process.stdin.pipe(require('zlib').createBrotliDecompress()).pipe(process.stdout)"
FLAGS = (
    "--disable-gpu",
    "--font-render-hinting=none",  # text has the same width on every machine
)


def executable(folder: Path) -> Path | None:
    """Where `install` has put it; None when it has not."""
    found = folder / NAME / VERSION / "chromium"
    return found if found.is_file() else None


def environment(program: Path, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What it is started with: its own libraries and its own font, after the machine's."""
    libraries = [env.get("LD_LIBRARY_PATH", ""), str(program.parent / "lib")]
    return {
        **env,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
        "FONTCONFIG_FILE": str(program.parent / "fonts.conf"),
    }


def install(folder: Path, tell: Callable[[str], None]) -> None:
    """Raises InstallFailed."""
    node, npm = programs.node(), programs.npm()
    if node is None or npm is None:
        raise InstallFailed("Node is not installed here")
    if (machine := platform.machine().lower()) not in ("x86_64", "amd64"):
        raise InstallFailed(f"it is built for x86_64, and this machine is {machine}")
    place = folder / NAME
    draft = place / f".new-{secrets.token_hex(4)}"
    draft.mkdir(parents=True)
    tell(f"installing {_PACKAGE} {VERSION} into {place} (about {_SIZE_MB} MB)")
    try:
        _fetch(draft / "npm", node, npm)
        packed = draft / "npm" / "node_modules" / _PACKAGE / "bin"
        _inflate(node, packed / "chromium.br", draft / "chromium")
        (draft / "chromium").chmod(0o755)
        for name in ("al2023", "fonts"):
            _inflate(node, packed / f"{name}.tar.br", draft / f"{name}.tar")
            with tarfile.open(draft / f"{name}.tar") as archive:
                archive.extractall(draft, filter="data")
            (draft / f"{name}.tar").unlink()
        (draft / "fonts.conf").write_text(_fonts(place / VERSION / "fonts"))
        shutil.rmtree(draft / "npm")
        _try(draft / "chromium")
        for old in place.iterdir():
            if old != draft:
                shutil.rmtree(old, ignore_errors=True)
        draft.rename(place / VERSION)
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        said = getattr(error, "stderr", None) or b""
        raise InstallFailed(f"{error} {said.decode(errors='replace')[-300:]}".strip()) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fetch(place: Path, node: str, npm: str) -> None:
    place.mkdir()
    (place / "package.json").write_text('{"private": true}\n')
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--omit=dev"]
    path = os.pathsep.join((str(Path(node).parent), os.environ.get("PATH", "")))
    subprocess.run(
        [node, npm, "install", *flags, "--loglevel=error", f"{_PACKAGE}@{VERSION}"],
        cwd=place,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_INSTALL_S,
    )


def _inflate(node: str, packed: Path, unpacked: Path) -> None:
    """By Node, which has Brotli, as Python has not."""
    with packed.open("rb") as given, unpacked.open("wb") as made:
        subprocess.run(
            [node, "-e", _INFLATE],
            stdin=given,
            stdout=made,
            stderr=subprocess.PIPE,
            check=True,
            timeout=_INSTALL_S,
        )


def _fonts(folder: Path) -> str:
    """Its own font, and those of the machine, which may have Chinese ones."""
    return (
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f'<dir>{folder}</dir><dir>/usr/share/fonts</dir><dir prefix="xdg">fonts</dir>'
        '<cachedir prefix="xdg">fontconfig</cachedir></fontconfig>\n'
    )


def _try(program: Path) -> None:
    subprocess.run(
        [program, "--version"],
        env=environment(program),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_START_S,
    )
