"""Values of options and arguments: read, and refused in words that name the choices.

Typer reads every value with Pydantic, which takes as long to load as the rest of the help together;
what is a word, a number, a path or one of some words is read here instead.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param

from trunkline import names


def lighten(params: Iterable[Any]) -> None:
    """From now on they are read here."""
    for param in params:
        described = getattr(param, "type_descriptor", None)
        if described is not None:
            param._runtime_param = _Light(described)
            _say_kind(param, described.annotation)


def _say_kind(param: Any, kind: Any) -> None:
    """What a value is, as help says it: TEXT, not `<list[str]>`. An argument's name says enough."""
    if param.param_type_name == "argument":
        param.display_type_rich = lambda ctx: None
    elif param.metavar is None:
        is_list = get_origin(kind) is list
        if is_list:
            (kind,) = get_args(kind)
        if is_list and kind not in _KINDS:
            param.metavar = f"<{'|'.join(map(_word, _choices(kind)))}>"
        else:
            param.metavar = _KINDS.get(kind)


_KINDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}


def every(command: Any) -> Iterator[Any]:
    """The command, and all below it."""
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from every(child)


class _Light(RuntimeParam):
    """How one parameter is read; Typer's own way for what is not known here."""

    def __init__(self, described: TypeDescriptor) -> None:
        super().__init__(described.parameter_info, described.annotation)
        object.__setattr__(self, "described", described)

    described: TypeDescriptor

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        kind: Any = self.annotation
        is_list = get_origin(kind) is list
        if is_list:
            (kind,) = get_args(kind)
        if not self._is_known(kind):
            built = build_runtime_param(self.described)
            return built.coerce(value, param=param, ctx=ctx)
        try:
            if is_list:
                return [self._read(one, kind) for one in value]
            return self._read(value, kind)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None

    def _is_known(self, kind: Any) -> bool:
        info = self.parameter_info
        if info.parser is not None:
            return False
        if kind is Path:
            return not (info.exists or info.resolve_path or info.path_type)
        is_enum = isinstance(kind, type) and issubclass(kind, Enum)
        return kind in (str, int, float) or is_enum or get_origin(kind) is Literal

    def _read(self, value: Any, kind: Any) -> Any:
        if kind is str:
            return str(value)
        if kind is Path:
            return Path(value)
        if kind in (int, float):
            return self._number(value, kind)
        by_word = {_word(one): one for one in _choices(kind)}
        if _word(value) not in by_word:
            raise ValueError(names.not_one_of(_word(value), list(by_word)))
        return by_word[_word(value)]

    def _number(self, value: Any, kind: Any) -> int | float:
        try:
            number: int | float = kind(value)
        except (ValueError, OverflowError):
            what = "whole number" if kind is int else "number"
            raise ValueError(f"{str(value)[:60]!r} is no {what}") from None
        least, most = self.parameter_info.min, self.parameter_info.max
        if (least is not None and not number >= least) or (most is not None and not number <= most):
            raise ValueError(f"{value} is not {_range(least, most)}")
        return number


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else tuple(kind)


def _word(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _range(least: float | None, most: float | None) -> str:
    if most is None:
        return f"{_plain(least)} or more"
    return f"{_plain(most)} or less" if least is None else f"from {_plain(least)} to {_plain(most)}"


def _plain(bound: float | None) -> str:
    """In digits, as people write it: 1125899906842624 and 0.5."""
    return str(int(bound)) if bound is not None and bound == int(bound) else str(bound)
