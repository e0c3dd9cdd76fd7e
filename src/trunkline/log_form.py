"""How a line of the log looks, on both planes. What is secret in it each plane knows itself.

The command line uses `one_line` too, for its help: nothing slow is imported here.
"""

import logging
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_COLOURS: Final = {"debug": "2", "warning": "33", "error": "31", "critical": "1;31"}
_FIRST: Final = {"session": 0, "machine": 1}
_PLACES_MAX = 6

# C0 and C1 controls, line and paragraph separators, bidirectional overrides, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def one_line(text: str) -> str:
    """The text with every character escaped that would end a line or act on a terminal."""
    return _UNSAFE.sub(lambda found: repr(found.group())[1:-1], text)


def add_error(_logger: "WrappedLogger", _method: str, event: "EventDict") -> "EventDict":
    """`exc_info` becomes one field for what happened and one for where."""
    given = event.pop("exc_info", None)
    if given is True:
        given = sys.exc_info()
    if isinstance(given, BaseException):
        given = (type(given), given, given.__traceback__)
    if isinstance(given, tuple) and given[1] is not None:
        kind, error, where = given
        event["error"] = f"{kind.__name__}: {error}"
        event["at"] = _places(where)
    return event


def _places(where: TracebackType | None) -> str:
    """The innermost calls of a traceback, nearest first, short enough for one line."""
    frames = traceback.extract_tb(where)[-_PLACES_MAX:]
    return " < ".join(
        f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )


class Outlet:
    """Where the lines go, and whoever logs goes on when they cannot be written: the log may be a
    file on a full disk, or a pipe that nobody reads any more."""

    def __init__(self, stream: TextIO, *, json_logs: bool) -> None:
        self._stream = stream
        self._missing = (
            '{"level": "warning", "event": "lines of this log are missing here", "lines": %d}\n'
            if json_logs
            else "… %d lines of this log are missing here: they could not be written\n"
        )
        self._lost = 0

    def write(self, text: str) -> int:
        try:
            if self._lost:
                self._stream.write(self._missing % self._lost)
                self._stream.flush()
                self._lost = 0
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._lost += text.count("\n")
        return len(text)

    def flush(self) -> None:
        """Nothing is held back here."""


class Console:
    """`time level event session=… machine=… other=…`. `text_of`: what is shown of a value."""

    def __init__(self, *, colours: bool, text_of: Callable[[Any], str] = str) -> None:
        self._colours = colours
        self._text_of = text_of

    def __call__(self, _logger: "WrappedLogger", _method: str, event: "EventDict") -> str:
        when = str(event.pop("timestamp", ""))[:23].replace("T", " ")
        level = str(event.pop("level", "info"))
        parts = [when, self._painted(f"{level:<7}", level), one_line(str(event.pop("event", "")))]
        names = sorted(event, key=lambda name: _FIRST.get(name, len(_FIRST)))
        parts.extend(f"{one_line(name)}={self._shown(event[name])}" for name in names)
        return " ".join(parts)

    def _painted(self, text: str, level: str) -> str:
        colour = _COLOURS.get(level)
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour else text

    def _shown(self, value: Any) -> str:
        text = one_line(self._text_of(value))
        if text and not any(character in text for character in ' "='):
            return text
        return '"' + text.replace('"', '\\"') + '"'
