"""Logs of the daemon and of its sessions' processes, on stderr: one readable line an event, or
JSON lines.

Secrets are known here by value: whatever holds one is shown without it. Errors say what and where,
never what the variables held.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from trunkline import limits
from trunkline.log_form import LEVELS, Console, Outlet, add_error

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
        else Console(colours=sys.stderr.isatty(), text_of=lambda value: str(_bounded(str(value))))
    )
    out = Outlet(sys.stderr, json_logs=json_logs)
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_error,
        _bound_values,
        render,
        _without_secrets,
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, out)),
        cache_logger_on_first_use=False,
    )
    # What libraries say, from warnings up, in the same form.
    own = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name],
            processors=[own, *processors],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _bound_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Texts without secrets, then cut: the other way round half a secret might be left."""
    return {name: _bounded(value) for name, value in event.items()}


def _bounded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = _cleaned(value)
    most = limits.LOG_VALUE_CHARS_MAX
    return text if len(text) <= most else text[:most] + "…"


def _without_secrets(_logger: WrappedLogger, _method: str, line: EventDict | str) -> str:
    return _cleaned(str(line))


def _cleaned(text: str) -> str:
    for secret in _secrets:
        text = text.replace(secret, _HIDDEN)
    return text
