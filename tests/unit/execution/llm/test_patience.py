"""Waiting for a model: how long, what readers see meanwhile, what comes instead."""

import pytest

from tests.support.model_server import Failure, Gate, ModelServer, Turn
from tests.support.models import KEY, MODELS, Session, call, failing, text_of
from trunkline.execution.llm.base import Usage

PROVIDERS = sorted(MODELS)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_model_that_does_not_begin_is_given_up_after_the_time_that_is_set(
    server: ModelServer, session: Session, provider: str
) -> None:
    gates = [Gate() for _ in range(4)]
    server.script(*(Turn(gate=gate, text="too late") for gate in gates))
    asked = call(MODELS[provider], first_byte_timeout_s=0.05)
    said, failed = await failing(session.router.stream(asked))
    assert failed.code == "MODEL_UNREACHABLE"
    assert "did not begin to answer within 0.05 s (first_byte_timeout_seconds)" in failed.message
    assert text_of(said) == []
    await server.requests[0].disconnected.wait()
    assert [usage for _, _, usage in session.reports] == [Usage(tokens_in=8)] * 4


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_model_that_falls_silent_is_given_up_after_the_time_that_is_set(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(chunks=["Well", Gate(), "too late"]))
    asked = call(MODELS[provider], silence_timeout_s=0.05)
    said, failed = await failing(session.router.stream(asked))
    assert text_of(said) == ["Well"]
    assert "nothing came for 0.05 s (silence_timeout_seconds)" in failed.message
    await server.requests[0].disconnected.wait()


async def test_readers_see_the_wait_as_it_runs_a_few_times(server: ModelServer) -> None:
    told: list[str] = []
    first, second = Gate(), Gate()

    def tell(news: str) -> None:
        told.append(news)
        if len(told) == 2:
            first.open()
        if len(told) == 4:
            second.open()

    server.script(Turn(gate=first, chunks=["Well", second, "."]))
    async with Session(server, news_s=(0.01, 0.03)) as session:
        pieces = await session.ask("gpt-4o", tell=tell)
    assert text_of(pieces) == ["Well", "."]
    assert told == [
        *["Waiting for gpt-4o for 0 s."] * 2,
        *["Waiting for more of gpt-4o for 0 s."] * 2,
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("body", "media_type", "shown"),
    [
        (b"<!doctype html><title>Log in</title>", "text/html", "it leads to a web page"),
        (b'{"detail": "no stream here"}', "application/json", '{"detail": "no stream here"}'),
        (b"hello " + KEY.encode(), "text/plain", "(text/plain): hello …"),
        (b"\xff\xfe\x00\x01" * 500, "application/x-thing", "(application/x-thing): "),
    ],
    ids=["page", "json", "key", "bytes"],
)
async def test_what_came_instead_of_an_answer_is_said(
    server: ModelServer, session: Session, provider: str, body: bytes, media_type: str, shown: str
) -> None:
    odd = Failure(status=200, body=body, headers={"Content-Type": media_type})
    server.script(*(Turn(failure=odd) for _ in range(4)))
    _, failed = await failing(session.router.stream(call(MODELS[provider])))
    assert failed.code == "MODEL_ERROR"
    assert media_type in failed.message
    assert shown in failed.message
    assert KEY not in failed.message
    assert len(failed.message) < 600
