"""Logs of the daemon and of its sessions' processes, on stderr: one readable line an event, or
JSON lines; in the form of the control plane's, which must not be imported here.

Secrets are known here by value: whatever holds one is shown without it. Errors say what and where,
never what the variables held.
"""

import logging
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from trunkline import limits

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_COLOURS: Final = {"debug": "2", "warning": "33", "error": "31", "critical": "1;31"}
_FIRST: Final = {"session": 0, "machine": 1}
_PLACES_MAX = 6
_SECRET_CHARS_MIN = 6  # shorter ones would blot out ordinary text
_HIDDEN = "***"
# C0 and C1 controls, line and paragraph separators, bidirectional overrides, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_secrets: set[str] = set()


def hide(secrets: Iterable[str | None]) -> None:
    """From now on these are not shown any more."""
    _secrets.update(one for one in secrets if one and len(one) >= _SECRET_CHARS_MIN)


def configure(*, json_logs: bool, level: str) -> None:
    """Sets the logs up for this process, before anything is logged."""
    render: Processor = (
        structlog.processors.JSONRenderer() if json_logs else _Console(sys.stderr.isatty())
    )
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_error,
        _bound_values,
        render,
        _without_secrets,
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # What libraries say, from warnings up, in the same form.
    own = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name],
            processors=[own, *processors],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _add_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
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


def _bound_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Texts without secrets, then cut: the other way round half a secret might be left."""
    return {name: _bounded(value) for name, value in event.items()}


def _bounded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = _cleaned(value)
    most = limits.LOG_VALUE_CHARS_MAX
    return text if len(text) <= most else text[:most] + "…"


class _Console:
    """`time level event session=… machine=… other=…`."""

    def __init__(self, colours: bool) -> None:
        self._colours = colours

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> str:
        when = str(event.pop("timestamp", ""))[:23].replace("T", " ")
        level = str(event.pop("level", "info"))
        parts = [when, self._painted(f"{level:<7}", level), _one_line(str(event.pop("event", "")))]
        names = sorted(event, key=lambda name: _FIRST.get(name, len(_FIRST)))
        parts.extend(f"{_one_line(name)}={_shown(event[name])}" for name in names)
        return " ".join(parts)

    def _painted(self, text: str, level: str) -> str:
        colour = _COLOURS.get(level)
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour else text


def _shown(value: Any) -> str:
    text = _one_line(str(_bounded(str(value))))
    if text and not any(character in text for character in ' "='):
        return text
    return '"' + text.replace('"', '\\"') + '"'


def _one_line(text: str) -> str:
    """Nothing in it ends the line or acts on a terminal."""
    return _UNSAFE.sub(lambda found: repr(found.group())[1:-1], text)


def _without_secrets(_logger: WrappedLogger, _method: str, line: EventDict | str) -> str:
    return _cleaned(str(line))


def _cleaned(text: str) -> str:
    for secret in _secrets:
        text = text.replace(secret, _HIDDEN)
    return text
