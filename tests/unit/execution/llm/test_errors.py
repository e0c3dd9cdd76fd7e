"""Failures in words that a person understands, and without anything secret."""

import pytest

from tests.support.model_server import Failure, ModelServer, Turn
from tests.support.models import KEY, MODELS, Session
from trunkline.execution.errors import ModelError
from trunkline.execution.llm.errors import Refusal, Service, explained, refusal

PROVIDERS = sorted(MODELS)
SERVICE = Service("openai", "api.openai.com")


async def error_of(
    server: ModelServer, provider: str, failure: Failure, key: str = KEY
) -> ModelError:
    server.otherwise(lambda request: Turn(failure=failure))
    async with Session(server, keys={provider: key}) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask(MODELS[provider])
    return failed.value


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("refused_key", "MODEL_KEY_REFUSED", "refused the API key"),
        ("rate_limited", "MODEL_RATE_LIMITED", "rate limit of"),
        ("quota", "MODEL_RATE_LIMITED", "no credit left"),
        ("overloaded", "MODEL_OVERLOADED", "overloaded"),
        ("context_full", "MODEL_CONTEXT_FULL", "conversation is too long"),
        ("model_not_found", "MODEL_NOT_FOUND", "does not know the model"),
        ("server_error", "MODEL_ERROR", "had an error (500)"),
        ("bad_request", "MODEL_ERROR", "did not accept the request (400): Bad request."),
    ],
)
@pytest.mark.proves("004-9-failure-is-told")
async def test_each_failure_has_its_code_and_its_words(
    server: ModelServer, provider: str, kind: str, code: str, words: str
) -> None:
    error = await error_of(server, provider, Failure(kind=kind))
    assert error.code == code
    assert words in error.message
    if code != "MODEL_CONTEXT_FULL":
        assert "127.0.0.1" in error.message or "model" in error.message


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("key", [KEY, "AIzaPlainLookingSecret"])
async def test_the_key_is_in_no_message_even_when_the_provider_repeats_it(
    server: ModelServer, provider: str, key: str
) -> None:
    failure = Failure(kind="bad_request", message=f"Your key {key} or sk-proj-abcdef is odd")
    error = await error_of(server, provider, failure, key)
    assert key not in error.message
    assert "sk-proj" not in error.message
    assert "is odd" in error.message
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>nginx</body></html>",
        b"",
        b"null",
        b"[1, 2]",
        b'"gone"',
        b'{"error": null}',
        b'{"error": "plain text"}',
        b'{"error": {"message": {"deep": ["x"]}, "type": 5, "code": 7}}',
        b"\xff\xfe",
        b"x" * 100_000,
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_any_body_of_an_error_becomes_a_short_message(
    server: ModelServer, provider: str, body: bytes
) -> None:
    error = await error_of(server, provider, Failure(status=400, body=body))
    assert error.code == "MODEL_ERROR"
    assert "did not accept the request (400)" in error.message
    assert len(error.message) < 500
    assert "<html>" not in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_is_not_there_is_named(provider: str) -> None:
    url = "http://127.0.0.1:9"
    config = {"providers": {provider: {"base_url": url}}}
    async with Session(config=config) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask(MODELS[provider])
    assert failed.value.code == "MODEL_UNREACHABLE"
    assert "(127.0.0.1:9) cannot be reached: nothing listens there." in failed.value.message
    assert session.pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("url", ["ftp://example.invalid", "nonsense", "http://[bad", "http://"])
async def test_a_base_url_that_is_none_is_an_error_for_people(provider: str, url: str) -> None:
    config = {"providers": {provider: {"base_url": url}}}
    async with Session(config=config) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask(MODELS[provider])
    assert failed.value.code in ("MODEL_UNREACHABLE", "MODEL_ERROR")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.example/v1", "api.example"),
        ("http://ada:hunter2@llm.lan:8080/v1", "llm.lan:8080"),
        ("http://ada:hunter2@[::1]:8080", "[::1]:8080"),
        ("ada:hunter2@llm.lan/v1", "llm.lan"),
        ("llm.lan/v1?key=hunter2", "llm.lan"),
        ("http://ada:hunter2/x@llm.lan", "an address that is no URL"),
        ("http://[hunter2", "an address that is no URL"),
        ("", "an address that is no URL"),
    ],
)
def test_of_a_base_url_only_the_host_is_told(url: str, host: str) -> None:
    assert Service.at("openai", url).host == host


async def test_a_password_in_a_base_url_is_not_told() -> None:
    config = {"providers": {"openai": {"base_url": "http://ada:secret@127.0.0.1:9/v1"}}}
    async with Session(config=config) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask("gpt-4o")
    assert "secret" not in failed.value.message
    assert "127.0.0.1:9" in failed.value.message


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_without_a_key_nothing_is_asked_and_the_message_says_what_to_do(
    provider: str,
) -> None:
    async with Session(keys={}) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask(MODELS[provider])
    assert failed.value.code == "MODEL_KEY_MISSING"
    assert "demo" in failed.value.message
    other = next(one for one in PROVIDERS if one != provider)
    async with Session(keys={other: "k"}) as session:
        with pytest.raises(ModelError, match=f"{other} has a key"):
            await session.ask(MODELS[provider])


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "9" * 400}, 1e9),
        ({"retry-after-ms": "nan"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_time_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float) -> None:
    assert refusal(429, {}, headers).retry_after_s == seconds


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (Refusal(status=403, message="no"), "MODEL_KEY_REFUSED"),
        (Refusal(status=402, message="pay"), "MODEL_RATE_LIMITED"),
        (Refusal(status=413), "MODEL_CONTEXT_FULL"),
        (Refusal(status=400, kind="exceed_context_size_error"), "MODEL_CONTEXT_FULL"),
        (Refusal(status=404, message="404 page not found"), "MODEL_NOT_FOUND"),
        (Refusal(status=400, message='model "x" not found, try pulling it'), "MODEL_NOT_FOUND"),
        (Refusal(status=307), "MODEL_ERROR"),
        (Refusal(kind="overloaded_error"), "MODEL_OVERLOADED"),
        (Refusal(kind="rate_limit_error"), "MODEL_RATE_LIMITED"),
    ],
)
def test_other_servers_say_the_same_in_their_own_words(told: Refusal, code: str) -> None:
    assert explained(SERVICE, "m", told).code == code


ADD_PAYMENT = (
    "Rate limit reached for gpt-4o on requests per min. Please try again in 20s. Please add a "
    "payment method: visit the account's billing page."
)


@pytest.mark.parametrize(
    ("told", "code", "retryable"),
    [
        (
            Refusal(status=429, kind="requests", code="rate_limit_exceeded", message=ADD_PAYMENT),
            "MODEL_RATE_LIMITED",
            True,
        ),
        (Refusal(status=429, message=ADD_PAYMENT), "MODEL_RATE_LIMITED", True),
        (
            Refusal(status=400, kind="invalid_request_error", message="create_payment: bad schema"),
            "MODEL_ERROR",
            False,
        ),
        (Refusal(status=400, message="no tool rate_limit"), "MODEL_ERROR", False),
        (
            Refusal(status=500, kind="server_error", message="The billing service timed out"),
            "MODEL_ERROR",
            True,
        ),
        (Refusal(status=400, kind="billing_error", message="Pay."), "MODEL_RATE_LIMITED", False),
        (Refusal(status=429, code="insufficient_quota"), "MODEL_RATE_LIMITED", False),
        (
            Refusal(status=400, message="Your credit balance is too low to access the API."),
            "MODEL_RATE_LIMITED",
            False,
        ),
        (
            Refusal(status=429, message="You exceeded your current quota, check your plan."),
            "MODEL_RATE_LIMITED",
            False,
        ),
    ],
)
def test_only_an_empty_account_counts_as_one(told: Refusal, code: str, retryable: bool) -> None:
    error = explained(SERVICE, "m", told)
    assert (error.code, error.retryable) == (code, retryable)
    assert ("no credit left" in error.message) == (code == "MODEL_RATE_LIMITED" and not retryable)
