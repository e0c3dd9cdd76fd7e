"""Lints the repository itself: what no other tool looks at.

Looks at every file that belongs to the project, whether it is committed yet or not.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hooks import hooks, modules
from tests.support.parsed import parsed

ROOT = Path(__file__).parents[1]
SKIPPED = {".git", ".venv", ".programs", "node_modules", "build", "dist", "site"}
CACHES = ("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
TEXT = {".py", ".md", ".toml", ".ts", ".js", ".css", ".html", ".json", ".lock", ".mako", ".sh", ""}
LINES_MAX = 400
LINES_OF_MODULE_DOCSTRING_MAX = 25

# Spelled in two halves, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(
    r"(?<![\w.])/(?:ho" + r"me/\w|Us" + r"ers/\w|ro" + r"ot/|wo" + r"rk/(?:ma" + "in|sha" + r"red))"
)
REGISTRY = re.compile(
    r"(?:py"
    + r"pi\.org|python"
    + r"hosted|registry\.npm"
    + r"js|--(?:extra-)?index"
    + r"-url|find"
    + r"-links)"
)
SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{20}")


# What docs/concepts/words.md says not to use. Names on disk stay what they are.
UNUSED_WORDS = re.compile(
    r"\b(?:[Kk]eeper|leash|tally|debts?|owe[ds]?|in vain|at work)\b"
    r"|\bwhat (?:it|the \w+) is at\b"
)
WORDS_ON_DISK = re.compile(r'"(?:tally|owed|[\w/]*owed\.jsonl)"|\bowed = |, owed\)')


def project_files() -> list[Path]:
    found = []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if SKIPPED.intersection(parts) or any(part in CACHES for part in parts):
            continue
        if any(part.endswith(".egg-info") for part in parts):
            continue
        if path.is_file() and path.suffix in TEXT:
            found.append(path)
    return found


FILES = project_files()
PYTHON = [path for path in FILES if path.suffix == ".py"]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def hits(pattern: re.Pattern[str], *, skip: tuple[str, ...] = ()) -> list[str]:
    """Where a pattern occurs, as `file:line`."""
    found = []
    for path in FILES:
        if name(path) in skip:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name(path)}:{number}")
    return found


def test_nothing_is_left_for_later() -> None:
    assert hits(UNFINISHED) == []


def test_words_that_the_glossary_does_not_use_are_not_used() -> None:
    found = [
        f"{name(path)}:{number}"
        for path in PYTHON
        if name(path).startswith("src/")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNUSED_WORDS.search(line) and not WORDS_ON_DISK.search(line)
    ]
    assert found == []


def test_no_path_of_somebodys_machine_is_written_down() -> None:
    assert hits(MACHINE_PATH) == []


def test_no_registry_address_is_written_down() -> None:
    assert hits(REGISTRY) == []


def test_no_private_key_is_kept_here() -> None:
    found = [name(path) for path in FILES if SECRET.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_lock_file_names_versions_and_hashes_and_no_addresses() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    wanted = re.compile(
        r"#.*|[A-Za-z0-9._\[\]-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
    )
    assert [line for line in lines if not wanted.fullmatch(line)] == []
    assert sum("==" in line and not line.startswith(" ") for line in lines) > 20


def test_every_dependency_is_locked() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = list(project["project"]["dependencies"])
    for extra in project["project"].get("optional-dependencies", {}).values():
        wanted += extra
    for group in project["dependency-groups"].values():
        wanted += group
    names = {re.split(r"[\[<>=~! ;]", one)[0].lower().replace("_", "-") for one in wanted}
    names -= {"trunkline"}  # extras that consist of others
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9.-]+)(?:\[.*\])?==", lock, re.MULTILINE))
    assert names - locked == set()


def problem_of_module(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > LINES_MAX:
        return f"{lines} lines: look for the second idea in it"
    if path.name == "__init__.py" and not text.strip():
        return ""
    docstring = ast.get_docstring(parsed(text))
    if not docstring:
        return "the module does not say what it is for"
    if len(docstring.splitlines()) > LINES_OF_MODULE_DOCSTRING_MAX:
        return "the module says too much before it begins"
    return ""


def problem_of_text(path: Path) -> str:
    raw = path.read_bytes()
    if b"\r" in raw:
        return "a carriage return"
    if path.suffix in {".py", ".md", ".toml", ".ts"}:
        if re.search(rb"[ \t]\n", raw):
            return "space at the end of a line"
        if raw and not raw.endswith(b"\n"):
            return "no line end at the end"
    return ""


def problems(paths: list[Path], look: Callable[[Path], str]) -> list[str]:
    """One for each file that has one."""
    return [f"{name(path)}: {found}" for path in paths if (found := look(path))]


def test_a_module_is_one_idea_and_says_which() -> None:
    assert problems(PYTHON, problem_of_module) == []


def test_text_is_clean() -> None:
    assert problems(FILES, problem_of_text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"""What it is for."""\n', ""),
        ("x = 1\n", "does not say what it is for"),
        ('"""It."""\n' + "x = 1\n" * LINES_MAX, "look for the second idea"),
        ('"""' + "line\n" * (LINES_OF_MODULE_DOCSTRING_MAX + 1) + '"""\n', "says too much"),
        ('"""It."""\r\n', "carriage return"),
        ('"""It.""" \n', "space at the end"),
        ('"""It."""', "no line end"),
    ],
)
def test_a_problem_of_a_module_is_seen(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(text.encode())
    assert problem in (problem_of_text(path) or problem_of_module(path))


PUBLIC = frozenset(("_asdict", "_exit", "_fields", "_make", "_mapping", "_replace"))
"""Public by what their libraries say: of named tuples, of SQLAlchemy's rows, of `os`."""
OWN = ("self", "cls", "super()")
MAY_PATCH = {
    # The faults that the simulation has to find are patches of behaviour; its loop is asyncio's
    # insides, because time and the order of callbacks come from the seed.
    "tests/simulation/faults.py",
    "tests/simulation/faults_of_room.py",
    "tests/simulation/loop.py",
    "tests/simulation/world.py",
    # Cancels at moments between two lines of one coroutine, which nobody outside can hit.
    "tests/unit/execution/orchestrator/test_endings.py",
}


def reaches(text: str) -> list[str]:
    """Where a test patches something, or takes what only its owner may."""
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Attribute):
            is_patch = node.attr in ("setattr", "delattr")
            is_private = node.attr.startswith("_") and not node.attr.startswith("__")
            if is_patch or (is_private and node.attr not in PUBLIC):
                of = ast.unparse(node.value)
                if is_patch or of not in OWN:
                    found.append(f"{node.lineno}: {of}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [alias.name for alias in node.names]
            is_mock = node.module.startswith("unittest")
            if is_mock or any(one.startswith("_") and one[:2] != "__" for one in names):
                found.append(f"{node.lineno}: from {node.module} import {', '.join(names)}")
    return found


def test_tests_patch_nothing_and_reach_into_nothing() -> None:
    """What a test wants to be different is handed in: `Tuning`, clocks, stores, fakes."""
    tests = [path for path in PYTHON if name(path).startswith("tests/")]
    found = {name(path): reaches(path.read_text(encoding="utf-8")) for path in tests}
    assert {path: lines for path, lines in found.items() if lines and path not in MAY_PATCH} == {}
    assert {path for path in MAY_PATCH if not found.get(path)} == set(), "no exception any more"


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("monkeypatch.setattr(limits, 'X', 1)", "1: monkeypatch.setattr"),
        ("from unittest.mock import patch", "1: from unittest.mock import patch"),
        ("from ours import Thing, _part", "1: from ours import Thing, _part"),
        ("server._core.log", "1: server._core"),
        ("self.server._core", "1: self.server._core"),
        ("self._own, cls._own, super()._own, row._asdict(), x.__dict__", None),
        ("monkeypatch.setenv('A', 'b')", None),
    ],
)
def test_a_reach_is_seen(text: str, reach: str | None) -> None:
    assert reaches(text) == ([] if reach is None else [reach])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (UNFINISHED, "# TO" + "DO: later"),
        (MACHINE_PATH, "see /ho" + "me/ada/x"),
        (MACHINE_PATH, '"/ro' + 'ot/.config"'),
        (REGISTRY, "https://py" + "pi.org/simple"),
    ],
)
def test_the_patterns_see_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_every_bound_has_a_name_of_its_own() -> None:
    """A second definition would quietly win over the first."""
    text = (ROOT / "src/trunkline/limits.py").read_text(encoding="utf-8")
    names = re.findall(r"^([A-Z_0-9]+)\s*=", text, re.MULTILINE)
    assert len(names) > 100
    assert len(names) == len(set(names))


@pytest.mark.parametrize("way", ["One message down", "One event up"])
def test_a_walk_through_the_control_plane_names_files_that_are_there_and_twelve_at_most(
    way: str,
) -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walk = page.split(f"## {way}\n\n")[1].split("\n\n")[0]
    steps = re.findall(r"(?<=→ )`([\w/]+\.py)`|`([\w/]+\.py)`(?= →)", walk.replace("\n", " "))
    files = dict.fromkeys(one or other for one, other in steps)
    assert 6 <= len(files) <= 12
    assert [one for one in files if not (ROOT / "src/trunkline/control" / one).is_file()] == []


MAY_HANG = {
    # One owner: a machine says to the logs of its sessions, and to no other, whom they report to,
    # as its line comes and goes. It is asked for each event, so it is no call but a field.
    "trunkline.control.machines.machine: log.on_safe",
    # Other people's objects, which take it in no other way.
    "trunkline.cli.values: param.display_type_rich",
    "trunkline.execution.runtimes.foreign.opencode: database.text_factory",
}
"""Functions that are stored on an object after it was made, and why."""


def test_no_hook_is_assigned_after_construction() -> None:
    """What an object calls comes into its constructor, or with the call that needs it: the order
    in which objects are made and met means nothing then."""
    found = hooks(modules(ROOT / "src/trunkline"))
    assert sorted(set(found) - MAY_HANG) == []
    assert sorted(MAY_HANG - set(found)) == [], "no exception any more"


OURS = """
from collections.abc import Callable

Told = Callable[[], None]

class Line:
    def __init__(self, on_end: Told) -> None:
        self.on_up: Callable[[bool], None] | None = None
        self.on_end: Told = on_end
        self.at = 0
        self.told = self.tell

    def tell(self) -> None: ...
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("line.on_up = other.tell", ["line.on_up"]),
        ("def serve(line, told):\n    line.on_end, line.at = told, 1", ["line.on_end"]),
        ("line.says = lambda: 1", ["line.says"]),
        ("line.says = partial(print, 1)", ["line.says"]),
        ("def say(): ...\nline.says = say", ["line.says"]),
        (
            "class A:\n def __init__(self, line): line.x = self._take\n def _take(self): ...",
            ["line.x"],
        ),
        ("class A:\n def hear(self): self.x = self._take\n def _take(self): ...", ["self.x"]),
        ("line.at = other.at\nline.name = name", []),
        ("class A:\n def __init__(self, at): self.at = at", []),
    ],
)
def test_a_hook_is_seen(text: str, found: list[str]) -> None:
    trees = {"line": parsed(OURS), "it": parsed(text)}
    assert hooks(trees) == [f"it: {one}" for one in found]
