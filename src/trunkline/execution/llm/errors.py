"""What a provider's failure means to the person who waits: every ModelError is made here.

Providers hand over what they saw (a status, a body, an exception); words, codes and whether
asking again can help are decided in this module. An API key never gets into a message.
"""

import re
import socket
import ssl
from collections.abc import Collection, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from trunkline.execution.errors import ModelError
from trunkline.execution.llm.windows import limit_said
from trunkline.execution.texts import shortened

MODEL_ERROR_CHARS_MAX = 300  # of what a provider says about an error

_TITLES = {"openai": "OpenAI", "anthropic": "Anthropic", "local": "The local model"}
_SECRET = re.compile(r"\b(?:sk|key|pk)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)
_CONTEXT_FULL = re.compile(
    r"context[_ ](?:length|window|size|limit)|prompt is too long|too many (?:input )?tokens|"
    r"request_too_large|exceeds? (?:the|this) .{0,30}context|input is too long|"
    r"maximum (?:prompt|model|input|sequence) length|maximum number of (?:input )?tokens|"
    r"reduce the length of the messages|max_new_tokens` must be <=",
    re.IGNORECASE,
)
# Messages of other errors speak of billing too; only these say that there is nothing left.
_NO_CREDIT_CODES = ("insufficient_quota", "billing_error", "billing_hard_limit_reached")
_NO_CREDIT = re.compile(r"credit balance|exceeded your current quota", re.IGNORECASE)
_NO_SUCH_MODEL = re.compile(
    r"model_not_found|model\b.{0,120}(?:not (?:be )?found|does not exist)|unknown model|^model: ",
    re.IGNORECASE,
)
# People forget the scheme. Of what fits nowhere nothing is shown: it may hold a password.
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#]*@)?(?P<host>(?:[\w.-]+|\[[\w:.%]+\])(?::\d+)?)(?:[/?#].*)?",
    re.IGNORECASE,
)


class Service(msgspec.Struct, frozen=True):
    """Who is asked, as a message names it: `OpenAI (api.openai.com)`."""

    name: str
    host: str

    @classmethod
    def at(cls, name: str, base_url: str) -> "Service":
        found = _ADDRESS.fullmatch(base_url.strip())
        return cls(name, found["host"] if found else "an address that is no URL")

    def __str__(self) -> str:
        return f"{_TITLES.get(self.name, self.name)} ({self.host})"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An error as a provider told it. `status` is 0 for one inside a stream."""

    status: int = 0
    kind: str = ""
    code: str = ""
    param: str = ""
    message: str = ""
    retry_after_s: float = 0.0

    @property
    def words(self) -> str:
        return f"{self.kind} {self.code} {self.message}"

    @property
    def has_no_credit(self) -> bool:
        said = self.kind in _NO_CREDIT_CODES or self.code in _NO_CREDIT_CODES
        return said or _NO_CREDIT.search(self.message) is not None


def refusal(status: int, body: object, headers: Mapping[str, str]) -> Refusal:
    """Reads an error's body, whatever it is: JSON of either provider, HTML, nothing."""
    error: Any = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        text = error if isinstance(error, str) and not error.lstrip().startswith("<") else ""
        error = {"message": text} if text else {}
    fields = {name: error.get(name) for name in ("type", "code", "param", "message")}
    known = {name: value if isinstance(value, str) else "" for name, value in fields.items()}
    return Refusal(
        status=status,
        kind=known["type"],
        code=known["code"],
        param=known["param"],
        message=known["message"] or (str(error)[:2_000] if error else ""),
        retry_after_s=_retry_after_s(headers),
    )


def explained(service: Service, model: str, told: Refusal, key: str = "") -> ModelError:
    """The error for people that a provider's refusal stands for."""
    status, words = told.status, told.words
    if status == 401 or told.kind == "authentication_error" or told.code == "invalid_api_key":
        return ModelError(
            "MODEL_KEY_REFUSED",
            f"{service} refused the API key. Check that it is complete and still valid.",
        )
    if told.code == "rate_limit_exceeded":
        return _rate_limited(service, told)
    if status == 402 or told.has_no_credit:
        return ModelError(
            "MODEL_RATE_LIMITED",
            f"The account at {service} has no credit left, or has reached its spending limit.",
        )
    if status == 403 or told.kind == "permission_error":
        return ModelError(
            "MODEL_KEY_REFUSED",
            f"{service} does not let this API key use the model “{shortened(model)}”.",
        )
    if status == 413 or (status in (0, 200, 400, 422, 500) and _CONTEXT_FULL.search(words)):
        return ModelError(
            "MODEL_CONTEXT_FULL",
            f"The conversation is too long for the model “{shortened(model)}”. Start a new "
            "session, or choose a model with a larger context.",
            limit=limit_said(told.message),
        )
    if status == 429 or "rate_limit" in told.kind + told.code:
        return _rate_limited(service, told)
    if status in (503, 529) or "overloaded" in told.kind:
        return ModelError(
            "MODEL_OVERLOADED",
            f"{service} is overloaded at the moment.",
            retryable=True,
            retry_after_s=told.retry_after_s,
        )
    if status == 404 or (status in (0, 400, 422) and _NO_SUCH_MODEL.search(words)):
        hint = "" if _NO_SUCH_MODEL.search(words) else " If the name is right, check the base URL."
        return ModelError(
            "MODEL_NOT_FOUND", f"{service} does not know the model “{shortened(model)}”.{hint}"
        )
    return _unexpected(service, told, key)


def unreachable(service: Service, error: BaseException) -> ModelError:
    """No connection, or one that broke before an answer."""
    return ModelError(
        "MODEL_UNREACHABLE",
        f"{service} cannot be reached: {_reason(error)}.",
        retryable=True,
    )


def broke_off(service: Service, said: bool) -> ModelError:
    """An answer that ended without its end."""
    where = "in the middle of the answer" if said else "before an answer came"
    return ModelError(
        "MODEL_UNREACHABLE", f"The connection to {service} broke off {where}.", retryable=True
    )


def no_first_byte(model: str, waited_s: float) -> ModelError:
    return ModelError(
        "MODEL_UNREACHABLE",
        f"The model “{shortened(model)}” did not begin to answer within {waited_s:g} s "
        "(first_byte_timeout_seconds).",
        retryable=True,
    )


def silent(model: str, waited_s: float) -> ModelError:
    return ModelError(
        "MODEL_UNREACHABLE",
        f"The model “{shortened(model)}” fell silent: nothing came for {waited_s:g} s "
        "(silence_timeout_seconds).",
        retryable=True,
    )


def nonsense(
    service: Service, media_type: str = "", opening: str = "", key: str = ""
) -> ModelError:
    """Bytes that no model sends; `opening` is how they begin."""
    kind = f" ({shortened(media_type)})" if media_type else ""
    begins = _clean(opening, key)
    is_page = begins.lower().startswith(("<!doctype", "<html"))
    hint = " Check the base URL: it leads to a web page." if is_page else ""
    shown = f": {begins}" if begins else "."
    return ModelError(
        "MODEL_ERROR",
        f"{service} sent something that is no answer{kind}{shown}{hint}",
        retryable=True,
    )


def no_key(service: Service, others: Collection[str] = ()) -> ModelError:
    """`others`: the providers that there is a key for."""
    return ModelError(
        "MODEL_KEY_MISSING",
        f"There is no API key for {service}.{_with_keys(others)} Set one among your credentials "
        f"(`trunkline user set-key {service.name}`), or choose the model “demo”, which needs none.",
    )


def unknown_model(name: str, providers: Collection[str] = ()) -> ModelError:
    """`providers`: those that are set up."""
    return ModelError(
        "MODEL_NOT_FOUND",
        f"No provider is known for the model “{shortened(name)}”.{_with_keys(providers)} Name one "
        "as provider/model, or set a base URL for OpenAI-compatible models.",
    )


def _with_keys(providers: Collection[str]) -> str:
    listed = shortened(", ".join(sorted(providers)))
    return f" {listed} {'have' if len(providers) > 1 else 'has'} a key." if listed else ""


def no_base_url(provider: str) -> ModelError:
    return ModelError(
        "MODEL_NOT_FOUND",
        f"The provider “{shortened(provider)}” has no base URL. Set one with its API key.",
    )


def refused(service: Service) -> ModelError:
    return ModelError("MODEL_REFUSED", f"The model of {service} refused to answer this.")


def too_long(service: Service) -> ModelError:
    return ModelError("MODEL_ERROR", f"The answer of {service} is longer than can be taken.")


def _rate_limited(service: Service, told: Refusal) -> ModelError:
    wait = f" It asks to wait {told.retry_after_s:.0f} s." if told.retry_after_s >= 1 else ""
    return ModelError(
        "MODEL_RATE_LIMITED",
        f"The rate limit of {service} is reached.{wait}",
        retryable=True,
        retry_after_s=told.retry_after_s,
    )


def _unexpected(service: Service, told: Refusal, key: str) -> ModelError:
    server_side = told.status >= 500 or told.status in (408, 409, 425)
    in_stream = told.status in (0, 200) and told.kind in ("", "api_error", "server_error")
    said = _clean(told.message, key)
    number = f" ({told.status})" if told.status >= 300 else ""
    verb = "had an error" if server_side or in_stream else "did not accept the request"
    return ModelError(
        "MODEL_ERROR",
        f"{service} {verb}{number}" + (f": {said}" if said else "."),
        retryable=server_side or in_stream,
        retry_after_s=told.retry_after_s,
    )


def _clean(text: str, key: str) -> str:
    """A provider's own words: one short line, with nothing secret in it."""
    if key:
        text = text.replace(key, "…")
    return shortened(_SECRET.sub("…", " ".join(text[:5_000].split())), MODEL_ERROR_CHARS_MAX)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 10:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def _reason(error: BaseException) -> str:
    """Why there is no connection, in a few words."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({shortened(cause.verify_message)})"
        if isinstance(cause, socket.gaierror):
            return "its host name is not known"
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens there"
        if isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__:
            return "it did not answer in time"
    return "the connection failed"


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds to wait as a response asks for them: a number, or a date against its own date."""
    wanted = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif wanted.replace(".", "", 1).isdigit():
            seconds = float(wanted)
        else:
            until, now = (parsedate_to_datetime(value) for value in (wanted, headers["date"]))
            seconds = (until - now).total_seconds()
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0
    return min(seconds, 1e9) if seconds > 0 else 0.0
