"""The import rules of the layout: who may know whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.parsed import parsed

SOURCE = Path(__file__).parents[1] / "src"
OURS = SOURCE / "trunkline"
MODULES = sorted(OURS.rglob("*.py"))

# What both planes have in common and neither may take from the other.
SHARED = (
    *("trunkline.limits", "trunkline.addresses", "trunkline.extras", "trunkline.log_form"),
    *("trunkline.model_windows", "trunkline.names", "trunkline.permissions", "trunkline.places"),
    *("trunkline.prices", "trunkline.private_files", "trunkline.tables"),
)
# What each part may import of this project, besides itself.
MAY: dict[str, tuple[str, ...]] = {
    "wire": (),
    "permissions": ("trunkline.limits",),
    "control": ("trunkline.wire", *SHARED),
    "execution": ("trunkline.wire", *SHARED),
    "client": ("trunkline.wire", "trunkline.limits", "trunkline.places"),
}
# What a folder may not import, though its part may.
NEVER: dict[str, tuple[str, ...]] = {
    "control/edges": ("trunkline.control.api",),
    "control/groups": ("trunkline.control.api", "trunkline.control.edges"),
    "control/records": ("trunkline.control.api", "trunkline.control.edges", "aiohttp"),
    "control/services": ("trunkline.control.api", "trunkline.control.edges"),
}
# Which library may be imported only below these folders.
ONLY: dict[str, tuple[str, ...]] = {
    "langgraph": ("execution/orchestrator", "execution/checkpoint"),
    "aiohttp.web": ("control/door", "control/edges", "control/api"),
    "picows": ("control/door", "control/edges", "control/api"),
}


def imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Every imported name, as an absolute one, with what is taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                above = parts[: len(parts) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def imports_of(path: Path, source: Path) -> set[str]:
    package = ".".join(path.relative_to(source).parent.parts)
    return set(imports(parsed(path.read_text(encoding="utf-8")), package))


def is_below(name: str, parent: str) -> bool:
    return name == parent or name.startswith(parent + ".")


def breaches(path: Path, source: Path = SOURCE) -> list[str]:
    """What this module imports and may not."""
    place = path.relative_to(source / "trunkline").as_posix()
    part = place.split("/", maxsplit=1)[0]
    found = []
    for name in imports_of(path, source):
        if is_below(name, "trunkline") and part in MAY:
            allowed = (f"trunkline.{part}", *MAY[part])
            if name != "trunkline.__version__" and not any(is_below(name, one) for one in allowed):
                found.append(name)
        for folder, never in NEVER.items():
            if place.startswith(folder + "/") and any(is_below(name, one) for one in never):
                found.append(name)
        for library, folders in ONLY.items():
            below = tuple(folder + "/" for folder in folders)
            if is_below(name, library) and not place.startswith(below):
                found.append(name)
    return sorted(found)


def test_a_module_imports_only_what_its_place_allows() -> None:
    found = {path.relative_to(OURS).as_posix(): breaches(path) for path in MODULES}
    assert {place: names for place, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("place", "line", "breach"),
    [
        ("wire/x.py", "from trunkline import limits", "trunkline.limits"),
        ("wire/a/x.py", "from ...control import ids", "trunkline.control.ids"),
        ("control/x.py", "import trunkline.execution.main", "trunkline.execution.main"),
        ("execution/x.py", "from trunkline.control import ids", "trunkline.control.ids"),
        ("client/x.py", "from trunkline.control.ids import x", "trunkline.control.ids.x"),
        ("control/x.py", "from aiohttp import web", "aiohttp.web"),
        ("control/edges/a/x.py", "from trunkline.control import api", "trunkline.control.api"),
        ("control/groups/x.py", "from ..edges import sse", "trunkline.control.edges.sse"),
        ("control/x.py", "def f():\n import picows", "picows"),
        ("execution/main.py", "from langgraph.graph import X", "langgraph.graph.X"),
    ],
)
def test_a_breach_is_seen(tmp_path: Path, place: str, line: str, breach: str) -> None:
    path = tmp_path / "trunkline" / place
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert breaches(path, tmp_path) == [breach]


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 30
