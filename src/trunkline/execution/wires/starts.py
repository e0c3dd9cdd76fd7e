"""Handlers as the daemon's lines have them, which also tell when a session's start is over."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from trunkline.execution.ws.handlers import MACHINE, Handler, Handlers

Json = dict[str, Any]
_START = "start_session"


class Starts(Handlers):
    """`on_started` is told a session's id when its start was handled, whatever came of it."""

    def __init__(self, on_started: Callable[[str], None]) -> None:
        super().__init__()
        self._on_started = on_started

    def __setitem__(self, key: str, handlers: Mapping[str, Handler]) -> None:
        if key == MACHINE and _START in handlers:
            handlers = {**handlers, _START: self._telling(handlers[_START])}
        super().__setitem__(key, handlers)

    def _telling(self, start: Handler) -> Handler:
        async def handle(data: Json) -> None:
            try:
                result = start(data)
                if inspect.isawaitable(result):
                    await result
            finally:
                self._on_started(str(data["session_id"]))

        return handle
