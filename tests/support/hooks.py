"""Finds hooks: a function that is stored on an object after that was made, so that what the object
does depends on who came by.

A function is a lambda, a `partial`, a `def` of the file, or what goes into a field that some class
declares to be a `Callable`.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.parsed import parsed

Aliases = set[tuple[str, str]]
"""Names of types that are functions, each with the module that defines it."""


def modules(source: Path) -> dict[str, ast.Module]:
    """By their names, those of a package's folder."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = parsed(path.read_text(encoding="utf-8"))
    return found


def hooks(trees: Mapping[str, ast.Module]) -> list[str]:
    """As `module: object.field`, in order; each once."""
    aliases = {
        (name, target.id)
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Callable[")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    own = {
        name: set(_callable_fields(tree, _known_as(name, tree, aliases)))
        for name, tree in trees.items()
    }
    of_any = set[str]().union(*own.values())
    return [
        f"{name}: {one}"
        for name, tree in trees.items()
        for one in dict.fromkeys(_stores(tree, own[name], of_any))
    ]


def _known_as(module: str, tree: ast.Module, aliases: Aliases) -> set[str]:
    """What the file calls the types that are functions."""
    known = {"Callable"} | {name for of, name in aliases if of == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {
                one.asname or one.name for one in node.names if (node.module, one.name) in aliases
            }
    return known


def _callable_fields(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Of objects and protocols; those of values are given when the value is made."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__init__", body=declared):
                pass
            case ast.ClassDef(bases=[*_, ast.Name(id="Protocol")], body=declared):
                pass
            case _:
                continue
        for one in declared:
            if isinstance(one, ast.AnnAssign) and _is_function_type(one.annotation, known):
                yield ast.unparse(one.target).removeprefix("self.")


def _is_function_type(annotation: ast.expr, known: set[str]) -> bool:
    match annotation:
        case ast.BinOp(left=left, right=right):  # of a function, or of None
            return _is_function_type(left, known) or _is_function_type(right, known)
        case ast.Subscript(value=ast.Name(id=name)) | ast.Name(id=name):
            return name in known
    return False


def _stores(tree: ast.Module, own: set[str], of_any: set[str]) -> Iterator[str]:
    """`own`: the fields of the file's own classes that are functions."""
    methods, functions = set(_functions(tree, of_classes=True)), set(_functions(tree))
    constructed = {
        id(node)
        for made in ast.walk(tree)
        if isinstance(made, ast.FunctionDef) and made.name == "__init__"
        for node in ast.walk(made)
    }
    for node in ast.walk(tree):
        for target, value in _assigned(node):
            if not isinstance(target, ast.Attribute):
                continue
            of = ast.unparse(target.value)
            if of == "self" and id(node) in constructed:
                continue
            fields = own if of == "self" else of_any
            if target.attr in fields or _is_function(value, functions, methods):
                yield f"{of}.{target.attr}"


def _functions(tree: ast.Module, *, of_classes: bool = False) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) or isinstance(node, ast.ClassDef) is not of_classes:
            continue
        for one in getattr(node, "body", ()):
            is_def = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_def and not one.decorator_list:
                yield one.name


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    yield from zip(target.elts, value.elts, strict=False)
                else:
                    yield target, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value


def _is_function(value: ast.expr, functions: set[str], methods: set[str]) -> bool:
    match value:
        case ast.Lambda() | ast.Call(func=ast.Name(id="partial")):
            return True
        case ast.Name(id=name):
            return name in functions
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name in methods
    return False
