"""Programs of other makers, made up: a shell script under their name."""

from pathlib import Path


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
