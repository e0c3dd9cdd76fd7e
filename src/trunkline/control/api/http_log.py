"""What aiohttp logs: an error only when the fault is ours.

aiohttp calls every request that it cannot read an error, and every client that leaves in the middle
of one an unhandled exception: any peer could fill the log with those.
"""

import logging
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError

from trunkline.log_form import one_line

_log = structlog.get_logger(__name__)
_logger = logging.getLogger("aiohttp.server")

_OF_THE_PEER = (HttpProcessingError, web.RequestPayloadError, ConnectionError)
_REASON_CHARS_MAX = 200  # it quotes what the peer sent


class HttpLog(logging.LoggerAdapter[logging.Logger]):
    """aiohttp's logger."""

    def __init__(self) -> None:
        super().__init__(_logger, {})

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        cause = kwargs.get("exc_info")
        if level < logging.ERROR or not isinstance(cause, _OF_THE_PEER):
            super().log(level, msg, *args, **kwargs)
            return
        reason = one_line(str(cause) or type(cause).__name__)[:_REASON_CHARS_MAX]
        _log.debug("a request could not be read", kind=type(cause).__name__, reason=reason)
