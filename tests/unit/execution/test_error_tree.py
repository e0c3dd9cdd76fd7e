"""The tree that `execution/errors.py` opens with, and its branch in `runtimes/errors.py`, are all
that this plane raises, and are true."""

import ast
import builtins
import re
from pathlib import Path

from tests.support.parsed import parsed
from trunkline.execution import errors
from trunkline.execution.runtimes import errors as runtimes_errors

EXECUTION = Path(errors.__file__).parent
_LINE = re.compile(
    r"(?P<indent>    (?:│   |    )*)(?:[├└]── )?(?P<name>[A-Z]\w+) +(?P<code>[A-Z]|as )"
)
_STEP = 4


def drawn(text: str) -> dict[str, str]:
    """Each class of the tree with the one that it hangs on; the root hangs on `Exception`."""
    above: list[str] = []
    found: dict[str, str] = {}
    for line in text.splitlines():
        if (match := _LINE.match(line)) is None:
            continue
        depth = len(match["indent"]) // _STEP if "── " in line else 0
        above = [*above[:depth], match["name"]]
        found[match["name"]] = above[-2] if depth else "Exception"
    return found


def is_builtin_error(name: str) -> bool:
    of = getattr(builtins, name, None)
    return isinstance(of, type) and issubclass(of, BaseException)


def raised() -> dict[str, tuple[Path, list[str]]]:
    """Every class of errors below `execution/`, with its file and its bases."""
    classes = [
        (path, node.name, [ast.unparse(base).rpartition(".")[2] for base in node.bases])
        for path in sorted(EXECUTION.rglob("*.py"))
        for node in ast.walk(parsed(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    found: dict[str, tuple[Path, list[str]]] = {}
    while True:
        more = {
            name: (path, bases)
            for path, name, bases in classes
            if name not in found and any(one in found or is_builtin_error(one) for one in bases)
        }
        if not more:
            return found
        found |= more


DRAWN = (runtimes_errors.__doc__ or "", errors.__doc__ or "")
"""The branch first, whose root hangs on nothing in its own drawing."""
TREE = {name: of for text in DRAWN for name, of in drawn(text).items()}


def test_every_error_of_this_plane_is_in_the_tree_or_private_to_its_file() -> None:
    public = {name for name in raised() if not name.startswith("_")}
    assert len(public) > 20
    assert sorted(public - set(TREE)) == []
    assert sorted(set(TREE) - public) == [], "drawn, and not there"


def test_an_error_hangs_where_the_tree_draws_it() -> None:
    bases = {name: of for name, (_, of) in raised().items()}
    private = {name for name in bases if name.startswith("_")}
    wrong = {}
    for name, parent in TREE.items():
        hangs = {*bases[name]} | {one for base in private & {*bases[name]} for one in bases[base]}
        if parent not in hangs:
            wrong[name] = f"drawn below {parent}, and is a {', '.join(bases[name])}"
    assert wrong == {}


def test_an_error_that_is_defined_elsewhere_is_drawn_with_its_file() -> None:
    drawing = (EXECUTION / "errors.py", EXECUTION / "runtimes/errors.py")
    elsewhere = {
        name: path
        for name, (path, _) in raised().items()
        if not name.startswith("_") and path not in drawing
    }
    lines = {
        match["name"]: line
        for line in "".join(DRAWN).splitlines()
        if (match := _LINE.match(line)) is not None
    }
    hidden = [
        name
        for name, path in elsewhere.items()
        if f"({path.parent.name}/{path.name})" not in lines[name]
    ]
    assert hidden == []


def test_a_private_error_is_caught_where_it_is_raised() -> None:
    """Nobody imports one."""
    private = {name for name in raised() if name.startswith("_")}
    imported = {
        alias.name
        for path in sorted(EXECUTION.rglob("*.py"))
        for node in ast.walk(parsed(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(private & imported) == []


def test_a_tree_is_read_as_it_is_drawn() -> None:
    text = "\n".join(
        [
            "    Root                 ROOT",
            "    ├── One              ONE_FAILED      why",
            "    │   └── Below        as answered     why",
            "    └── Two              TWO_…           why",
            "",
            "Codes are elsewhere.",
        ]
    )
    assert drawn(text) == {"Root": "Exception", "One": "Root", "Below": "One", "Two": "Root"}
