"""Programs of other makers, made up: a shell script under their name."""

from pathlib import Path

from trunkline.execution.runtimes.packages import PACKAGES, native_platform


def put_program(folder: Path, name: str, text: str = "exit 0") -> Path:
    """One that does what its text says."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def put_package(programs: Path, name: str, command: str, version: str) -> Path:
    """One that npm has installed for a machine."""
    package = programs / name / "node_modules" / f"some-{command}"
    path = put_program(package, command, f"echo {version}")
    (package / "package.json").write_text(f'{{"name": "x", "version": "{version}"}}')
    links = programs / name / "node_modules" / ".bin"
    links.mkdir()
    (links / command).symlink_to(f"../some-{command}/{command}")
    return path


def put_adapter(programs: Path, name: str, *, package: str = "", is_alone: bool = False) -> Path:
    """One that npm has installed for a machine, with what it drives unless it is alone; of another
    package, which has a program of the same name, if that is said."""
    known = PACKAGES[name]
    modules = programs / name / "node_modules"
    path = put_program(modules / (package or known.adapter) / "dist", "index.js")
    links = modules / ".bin"
    links.mkdir()
    (links / known.commands[0]).symlink_to(f"../{package or known.adapter}/dist/index.js")
    if not is_alone:
        driven = modules / known.driven.replace("*", "any")
        put_program(driven.parent, driven.name)
        about = driven.parents[3] / "package.json"
        about.write_text(f'{{"name": "x", "version": "{known.version}-{native_platform()}"}}')
    return path
