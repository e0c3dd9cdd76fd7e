"""Who is asked, how often, and who else."""

import pytest

from tests.support.model_server import Failure, ModelServer, ToolUse, Turn
from tests.support.models import (
    BASH,
    KEY,
    MODELS,
    Session,
    call,
    failing,
    news_of,
    reply_of,
    text_of,
)
from trunkline.execution.errors import ModelError
from trunkline.execution.llm.base import Thinking

PROVIDERS = sorted(MODELS)
BUSY = Turn(failure=Failure(kind="overloaded"))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.proves("004-9-retries")
async def test_what_may_pass_is_asked_for_three_times_more(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(BUSY, BUSY, BUSY, Turn(text="Finally."))
    pieces = await session.ask(MODELS[provider])
    assert reply_of(pieces).text == "Finally."
    assert session.pauses == [1.0, 2.0, 4.0]
    assert [type(piece) for piece in pieces[:3]] == [Thinking] * 3
    assert all("overloaded" in told and "Asking again in" in told for told in news_of(pieces))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_after_the_fourth_failure_the_person_is_told(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(BUSY, BUSY, BUSY, BUSY, Turn(text="too late"))
    with pytest.raises(ModelError) as failed:
        await session.ask(MODELS[provider])
    assert failed.value.code == "MODEL_OVERLOADED"
    assert len(server.requests) == 4
    assert session.reports == []


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("refused_key", "MODEL_KEY_REFUSED"),
        ("context_full", "MODEL_CONTEXT_FULL"),
        ("model_not_found", "MODEL_NOT_FOUND"),
        ("quota", "MODEL_RATE_LIMITED"),
        ("bad_request", "MODEL_ERROR"),
    ],
)
@pytest.mark.proves("004-9-retries")
async def test_what_would_fail_again_is_not_asked_for_again(
    server: ModelServer, session: Session, provider: str, kind: str, code: str
) -> None:
    server.script(Turn(failure=Failure(kind=kind)), Turn(text="never said"))
    with pytest.raises(ModelError) as failed:
        await session.ask(MODELS[provider])
    assert failed.value.code == code
    assert (len(server.requests), session.pauses) == (1, [])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_provider_says_how_long_to_wait(
    server: ModelServer, session: Session, provider: str
) -> None:
    limited = Failure(kind="rate_limited", headers={"Retry-After": "17"})
    server.script(Turn(failure=limited), Turn(text="ok"))
    pieces = await session.ask(MODELS[provider])
    assert session.pauses == [17.0]
    assert "rate limit" in news_of(pieces)[0]


async def test_a_provider_that_asks_for_minutes_is_not_waited_for(
    server: ModelServer, session: Session
) -> None:
    limited = Failure(kind="rate_limited", headers={"Retry-After": "120"})
    server.script(Turn(failure=limited), Turn(text="never said"))
    with pytest.raises(ModelError, match="asks to wait 120 s") as failed:
        await session.ask("gpt-4o")
    assert failed.value.code == "MODEL_RATE_LIMITED"
    assert session.pauses == []


@pytest.mark.proves("004-9-fallback")
async def test_the_fallback_model_is_asked_when_the_first_one_fails(server: ModelServer) -> None:
    server.when(lambda request: request.provider == "openai", BUSY, BUSY, BUSY, BUSY)
    server.when(lambda request: request.provider == "anthropic", Turn(text="I can."))
    async with Session(server, config={"fallback_model": "claude-haiku-5-5"}) as session:
        pieces = await session.ask("gpt-4o")
    assert reply_of(pieces).text == "I can."
    assert reply_of(pieces).model == "claude-haiku-5-5"
    assert "Asking claude-haiku-5-5 instead." in news_of(pieces)[-1]
    assert [request.model for request in server.requests] == ["gpt-4o"] * 4 + ["claude-haiku-5-5"]


async def test_a_missing_key_goes_to_the_fallback_model_at_once(server: ModelServer) -> None:
    server.script(Turn(text="I can."))
    keys = {"anthropic": KEY}
    config = {
        "fallback_model": "claude-haiku-5-5",
        "providers": {"anthropic": {"base_url": server.anthropic_url}},
    }
    async with Session(keys=keys, config=config) as session:
        pieces = await session.ask("gpt-4o")
    assert reply_of(pieces).text == "I can."
    assert "no API key for OpenAI" in news_of(pieces)[0]
    assert session.pauses == []


async def test_both_reasons_are_told_when_the_fallback_fails_too(server: ModelServer) -> None:
    server.when(
        lambda request: request.model == "gpt-4o", Turn(failure=Failure(kind="refused_key"))
    )
    server.script(Turn(failure=Failure(kind="model_not_found")))
    async with Session(server, config={"fallback_model": "claude-nothing"}) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask("gpt-4o")
    assert failed.value.code == "MODEL_KEY_REFUSED"
    assert "refused the API key" in failed.value.message
    assert "does not know the model “claude-nothing”" in failed.value.message


@pytest.mark.parametrize("kind", ["context_full"])
async def test_no_other_model_is_asked_for_what_it_would_refuse_too(
    server: ModelServer, kind: str
) -> None:
    server.script(Turn(failure=Failure(kind=kind)), Turn(text="never said"))
    async with Session(server, config={"fallback_model": "claude-haiku-5-5"}) as session:
        with pytest.raises(ModelError):
            await session.ask("gpt-4o")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("first", "second"), [("gpt-4o", "claude-haiku-5-5"), ("claude-haiku-5-5", "gpt-4o")]
)
async def test_the_fallback_goes_on_with_an_answer_that_broke_off_and_says_so(
    server: ModelServer, first: str, second: str
) -> None:
    server.script(Turn(text="Once upon a time", cut_after=5, cut_cleanly=True))
    server.script(Turn(text=" there was", tool_calls=[ToolUse(name="bash", id="b1")]))
    async with Session(server, config={"fallback_model": second}) as session:
        pieces = await session.ask(first, tools=[BASH])
    told = "".join(text_of(pieces))
    reply = reply_of(pieces)
    assert (reply.text, reply.model) == (told, second)
    assert told.startswith("Once upon")
    assert told.endswith(" there was")
    assert told.count("Once") == 1
    assert [one["id"] for one in reply.tool_calls] == ["b1"]
    [news] = news_of(pieces)
    assert "broke off in the middle of the answer" in news
    assert f"{second} goes on from there" in news
    # The fallback sees what was said, and is asked not to repeat it.
    *_, begun, asked = server.requests[1].messages
    assert begun["role"] == "assistant"
    assert "Once upon" in str(begun["content"])
    assert "repeat nothing" in str(asked["content"])
    # What the broken call took counts beside the other.
    assert [model for model, _, _ in session.reports] == [first, second]


async def test_a_break_in_both_models_ends_the_answer_with_what_was_said(
    server: ModelServer,
) -> None:
    server.script(Turn(text="Once upon", cut_after=2), Turn(text=" a time", cut_after=6))
    async with Session(server, config={"fallback_model": "claude-haiku-5-5"}) as session:
        said, failed = await failing(session.router.stream(call("gpt-4o")))
    assert "".join(text_of(said)).startswith("Once")
    assert failed.code == "MODEL_UNREACHABLE"
    assert len(server.requests) == 2


async def test_thinking_alone_does_not_keep_a_broken_call_from_being_repeated(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(thinking="Hm.", text="lost", cut_after=2), Turn(text="ok"))
    pieces = await session.ask("gpt-4o")
    assert text_of(pieces) == ["ok"]
    assert Thinking("Hm.") in pieces


async def test_a_call_that_names_no_model_goes_to_the_default_one(server: ModelServer) -> None:
    server.script(Turn(text="ok"))
    async with Session(server, config={"default_model": "claude-opus-5"}) as session:
        await session.ask("")
        assert session.router.default_model() == "claude-opus-5"
    assert server.requests[0].model == "claude-opus-5"


async def test_a_provider_of_ones_own_gets_its_own_key_and_address(server: ModelServer) -> None:
    server.script(Turn(text="ok"), Turn(text="ok"))
    config = {
        "providers": {
            "groq": {"base_url": server.openai_url},
            "proxy": {"base_url": server.anthropic_url, "api": "anthropic"},
        }
    }
    async with Session(keys={"groq": "gsk-1", "proxy": "p-2"}, config=config) as session:
        await session.ask("groq/llama/3")
        await session.ask("proxy/claude-x")
    first, second = server.requests
    assert (first.model, first.headers["authorization"]) == ("llama/3", "Bearer gsk-1")
    assert (second.model, second.provider) == ("claude-x", "anthropic")
    assert second.headers["x-api-key"] == "p-2"
