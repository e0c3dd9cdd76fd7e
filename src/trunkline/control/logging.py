"""Logs for people (one readable line an event) or for programs (one JSON object a line).

Every event of a session or machine says which, as keywords `session=…, machine=…`. Secrets are
taken out and control characters escaped, whatever was logged.
"""

import logging
import sys
import traceback
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from trunkline import limits
from trunkline.control.redaction import is_secret_name, one_line, redact

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_COLOURS: Final = {"debug": "2", "warning": "33", "error": "31", "critical": "1;31"}
_FIRST: Final = {"session": 0, "machine": 1}
_PLACES_MAX = 6
_DEPTH_MAX = 6
_MARGIN_CHARS = 2_000


def configure(*, json_logs: bool, level: str, stream: TextIO | None = None) -> None:
    """Sets the logs up for this process; called once at the start, before anything logs."""
    out = sys.stderr if stream is None else stream
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_error,
        _clean,
    ]
    render = _render_json() if json_logs else _Console(colours=out.isatty())
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    _route_libraries(shared, render, out)


def _route_libraries(shared: list[Processor], render: Processor, out: TextIO) -> None:
    """What libraries say through the standard `logging`, from warnings up, in the same form."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shared, render],
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)


def _add_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """`exc_info` becomes one field for what happened and one for where."""
    given = event.pop("exc_info", None)
    if given is True:
        given = sys.exc_info()
    if isinstance(given, BaseException):
        given = (type(given), given, given.__traceback__)
    if not isinstance(given, tuple) or given[1] is None:
        return event
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


def _clean(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: _cleaned(key, value, _DEPTH_MAX) for key, value in event.items()}


def _cleaned(key: str, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_secret_name(key):
        return "***"
    if isinstance(value, dict) and depth:
        return {str(name): _cleaned(str(name), item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_cleaned("", item, depth - 1) for item in value]
    text = value if isinstance(value, str) else repr(value)
    # Cut twice: before, so that a huge value costs little; after, to the length that is shown.
    # The margin keeps a secret that the first cut halves out of what the second one leaves.
    text = redact(text[: limits.LOG_VALUE_CHARS_MAX + _MARGIN_CHARS])
    if len(text) > limits.LOG_VALUE_CHARS_MAX:
        return text[: limits.LOG_VALUE_CHARS_MAX] + "…"
    return text


def _render_json() -> Processor:
    # ASCII only, so that no character outside it can end the line for some reader.
    return structlog.processors.JSONRenderer(ensure_ascii=True)


class _Console:
    """`time level event session=… machine=… other=…`."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> str:
        when = str(event.pop("timestamp", ""))[:23].replace("T", " ")
        level = str(event.pop("level", "info"))
        parts = [when, self._painted(f"{level:<7}", level), one_line(str(event.pop("event", "")))]
        names = sorted(event, key=lambda name: _FIRST.get(name, len(_FIRST)))
        parts.extend(f"{one_line(name)}={_shown(event[name])}" for name in names)
        return " ".join(parts)

    def _painted(self, text: str, level: str) -> str:
        colour = _COLOURS.get(level)
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour else text


def _shown(value: Any) -> str:
    text = one_line(str(value))
    if text and not any(character in text for character in ' "='):
        return text
    return '"' + text.replace('"', '\\"') + '"'
