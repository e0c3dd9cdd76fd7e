"""Which test proves which requirement, read from the sources: nothing is imported or run."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.parsed import parsed

ROOT = Path(__file__).resolve().parents[2]


class Proof(NamedTuple):
    """A test function that names a requirement; `test` is None where a mark is on no test."""

    requirement: str | None
    file: str
    line: int
    test: str | None


def find_proofs(folder: Path = ROOT / "tests", root: Path = ROOT) -> list[Proof]:
    """Every `pytest.mark.proves(…)` under that folder, in the order of files and lines."""
    found: list[Proof] = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        found += _of_source(path.read_text(), name)
    return found


def _of_source(source: str, file: str) -> list[Proof]:
    if "mark.proves" not in source:
        return []
    tree = parsed(source, file)
    found: list[Proof] = []
    on_tests: set[ast.Call] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not function.name.startswith("test_"):
            continue
        for decorator in function.decorator_list:
            for call in _marks(decorator):
                on_tests.add(call)
                found += _named(call, file, function.name)
    for call in _marks(tree):
        if call not in on_tests:
            found += _named(call, file, None)
    return sorted(found, key=lambda proof: proof.line)


def _marks(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.proves"):
            yield node


def _named(call: ast.Call, file: str, test: str | None) -> list[Proof]:
    """One proof for each name; a name that is no plain text is None, which the check refuses."""
    names = [
        argument.value
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        else None
        for argument in call.args
    ]
    return [Proof(name, file, call.lineno, test) for name in names or [None]]
