"""Logs for people (one readable line an event) or for programs (one JSON object a line).

Every event of a session or machine says which, as keywords `session=…, machine=…`. Secrets are
taken out and control characters escaped, whatever was logged.
"""

import logging
import sys
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from trunkline import limits
from trunkline.control.redaction import is_secret_name, redact
from trunkline.log_form import LEVELS, Console, Outlet, add_error

_DEPTH_MAX = 6
_MARGIN_CHARS = 2_000


def configure(*, json_logs: bool, level: str, stream: TextIO | None = None) -> None:
    """Sets the logs up for this process; called once at the start, before anything logs."""
    to = sys.stderr if stream is None else stream
    out = Outlet(to, json_logs=json_logs)
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_error,
        _clean,
    ]
    render = _render_json() if json_logs else Console(colours=to.isatty())
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, out)),
        cache_logger_on_first_use=False,
    )
    _route_libraries(shared, render, out)


def _route_libraries(shared: list[Processor], render: Processor, out: Outlet) -> None:
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
