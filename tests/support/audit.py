"""What the interpreter does while a test looks: its own audit events (`sys.addaudithook`)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

Listener = Callable[[str, tuple[Any, ...]], None]

_listeners: list[Listener] = []


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    for listener in _listeners:
        listener(event, arguments)


@cache
def _hooked() -> None:
    """Once, because a hook cannot be taken away again."""
    sys.addaudithook(_tell)


@contextmanager
def audited(*events: str, then: Callable[[], object] | None = None) -> Iterator[list[Any]]:
    """The first argument of each of these events, inside of it. `then` is called behind each."""
    _hooked()
    seen: list[Any] = []

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if event in events:
            seen.append(arguments[0])
            if then is not None:
                then()

    _listeners.append(listen)
    try:
        yield seen
    finally:
        _listeners.remove(listen)
