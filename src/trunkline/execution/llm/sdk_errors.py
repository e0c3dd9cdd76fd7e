"""From what the official SDKs and their HTTP client raise to a ModelError.

Both SDKs come from one generator and name their exceptions alike, so one function reads both.
"""

from typing import Any

import httpx2
import structlog

from trunkline.execution.errors import ModelError
from trunkline.execution.llm.errors import (
    Refusal,
    Service,
    broke_off,
    explained,
    nonsense,
    refusal,
    unreachable,
)

log = structlog.get_logger(__name__)

_NO_CONNECTION = (httpx2.ConnectError, httpx2.TimeoutException, httpx2.UnsupportedProtocol)


def told_by(sdk: Any, error: Exception) -> Refusal | None:
    """What the provider itself said about an error, if it said something."""
    if isinstance(error, sdk.APIStatusError):
        return refusal(error.status_code, error.body, error.response.headers)
    if isinstance(error, sdk.APIError) and error.body is not None:
        return refusal(0, error.body, {})
    return None


def as_model_error(
    sdk: Any, error: Exception, *, service: Service, model: str, key: str, said: bool
) -> ModelError:
    """The error for people. `said`: some of the answer had come."""
    if isinstance(error, ModelError):
        return error
    if isinstance(error, MemoryError):
        raise error  # this machine's trouble, whoever's answer was being read
    if (told := told_by(sdk, error)) is not None:
        return explained(service, model, told, key)
    if isinstance(error, sdk.APIConnectionError | httpx2.TransportError | httpx2.InvalidURL):
        cause = error.__cause__ or error
        if said or not isinstance(cause, (*_NO_CONNECTION, httpx2.InvalidURL)):
            return broke_off(service, said)
        return unreachable(service, cause)
    # Anything else is our reading of what came stumbling over it.
    log.warning("model_answer_unreadable", service=str(service), error=repr(error)[:500])
    return nonsense(service)
