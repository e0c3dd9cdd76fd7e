"""Logs of the daemon and of its sessions' processes, on stderr: for people, or JSON lines.

Secrets are known here by value: whatever holds one is shown without it. Tracebacks show where,
never what the variables held.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_SECRET_CHARS_MIN = 6  # shorter ones would blot out ordinary text
_HIDDEN = "***"

_secrets: set[str] = set()


def hide(secrets: Iterable[str | None]) -> None:
    """From now on these are not shown any more."""
    _secrets.update(one for one in secrets if one and len(one) >= _SECRET_CHARS_MIN)


def configure(*, json_logs: bool, level: str) -> None:
    """Sets the logs up for this process, before anything is logged."""
    render: Processor = (
        structlog.processors.JSONRenderer()
        if json_logs
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if json_logs:
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, render, _without_secrets],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_hide_in_record)


def _without_secrets(_logger: WrappedLogger, _method: str, line: EventDict | str) -> str:
    return _cleaned(str(line))


def _hide_in_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = _cleaned(record.getMessage()), ()
    return True


def _cleaned(text: str) -> str:
    for secret in _secrets:
        text = text.replace(secret, _HIDDEN)
    return text
