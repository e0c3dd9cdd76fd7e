"""An answer of either provider, from the request to the reply: the same to who asks."""

import asyncio

import pytest

from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.models import (
    BASH,
    MODELS,
    Session,
    call,
    reply_of,
    text_of,
    tool,
)
from trunkline.execution.llm.base import Text, Thinking, Usage

PROVIDERS = sorted(MODELS)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.proves("004-9-openai-direct", "004-9-anthropic-direct")
async def test_text_comes_in_the_pieces_in_which_the_model_says_it(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(chunks=["Hel", "lo ", "世界", "!"]))
    pieces = await session.ask(MODELS[provider])
    assert text_of(pieces) == ["Hel", "lo ", "世界", "!"]
    reply = reply_of(pieces)
    assert (reply.text, reply.stop_reason, reply.tool_calls) == ("Hello 世界!", "stop", [])
    assert server.requests[0].provider == provider


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_piece_arrives_while_the_model_still_speaks(
    server: ModelServer, session: Session, provider: str
) -> None:
    gate = Gate()
    server.script(Turn(chunks=["first", gate, "second"]))
    stream = session.router.stream(call(MODELS[provider]))
    assert await anext(stream) == Text("first")
    gate.open()
    assert await anext(stream) == Text("second")
    await stream.aclose()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_tool_calls_are_put_together_from_their_parts(
    server: ModelServer, session: Session, provider: str
) -> None:
    calls = [
        ToolUse(name="bash", arguments={"command": "ls -l"}, id="one"),
        ToolUse(name="read_file", arguments={"path": "a.txt"}, id="two"),
        ToolUse(name="list_files", id="three"),
    ]
    server.script(Turn(text="Let me look.", tool_calls=calls))
    reply = reply_of(await session.ask(MODELS[provider], tools=[BASH, tool("read_file")]))
    assert reply.tool_calls == [
        {"id": "one", "name": "bash", "arguments": {"command": "ls -l"}},
        {"id": "two", "name": "read_file", "arguments": {"path": "a.txt"}},
        {"id": "three", "name": "list_files", "arguments": {}},
    ]
    assert (reply.text, reply.stop_reason) == ("Let me look.", "tool_calls")
    assert server.requests[0].tool_names == ["bash", "read_file"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_thinking_comes_before_the_text_and_is_no_part_of_it(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(thinking="What is it?\nAh.", text="It is."))
    pieces = await session.ask(MODELS[provider])
    assert pieces[:2] == [Thinking("What is it?\n"), Thinking("Ah.")]
    assert reply_of(pieces).text == "It is."


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.proves("004-9-keys-of-init")
async def test_the_system_prompt_and_the_key_reach_the_provider(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(text="ok"))
    await session.ask(MODELS[provider], "Who are you?", system="You are Ada.")
    request = server.requests[0]
    assert (request.system, request.prompt, request.model) == (
        "You are Ada.",
        "Who are you?",
        MODELS[provider],
    )
    assert request.headers["authorization"] == "Bearer sk-test-0123456789abcdef"


@pytest.mark.parametrize(
    ("provider", "usage"),
    [
        ("openai", Usage(tokens_in=120, tokens_out=30, cache_read_tokens=100)),
        (
            "anthropic",
            Usage(tokens_in=240, tokens_out=30, cache_read_tokens=100, cache_write_tokens=20),
        ),
    ],
)
@pytest.mark.proves("004-9-usage-after-each-call")
async def test_usage_is_reported_once_with_latency_and_cache_tokens(
    server: ModelServer, session: Session, provider: str, usage: Usage
) -> None:
    server.script(
        Turn(text="ok", tokens_in=120, tokens_out=30, cache_read=100, cache_write=20),
    )
    reply = reply_of(await session.ask(MODELS[provider]))
    assert reply.usage == usage
    assert reply.latency_ms == 250
    assert reply.model == MODELS[provider]
    assert session.reports == [(reply.model, reply.latency_ms, reply.usage)]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_closing_a_stream_ends_its_request_at_once(
    server: ModelServer, session: Session, provider: str
) -> None:
    gate = Gate()
    server.script(Turn(chunks=["first", gate, "second"]))
    stream = session.router.stream(call(MODELS[provider]))
    assert await anext(stream) == Text("first")
    await stream.aclose()
    await server.requests[0].disconnected.wait()
    # Anthropic tells at the start what the question took; OpenAI says nothing before the end.
    tokens_in = 11 if provider == "anthropic" else 8
    used = Usage(tokens_in=tokens_in, tokens_out=2)
    assert [(model, usage) for model, _, usage in session.reports] == [(MODELS[provider], used)]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_cancelled_turn_ends_its_request_even_before_the_answer_begins(
    server: ModelServer, session: Session, provider: str
) -> None:
    gate = Gate()
    server.script(Turn(gate=gate, text="too late"))
    asking = asyncio.create_task(session.ask(MODELS[provider]))
    await gate.reached.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.requests[0].disconnected.wait()
    [(model, _, usage)] = session.reports
    assert (model, usage) == (MODELS[provider], Usage(tokens_in=8))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_many_calls_at_once_keep_their_answers_apart(
    server: ModelServer, session: Session, provider: str
) -> None:
    for number in range(10):
        server.when(lambda r, n=number: r.prompt == f"number {n}", Turn(text=f"I am {number}"))  # type: ignore[misc]
    answers = await asyncio.gather(
        *(session.ask(MODELS[provider], f"number {number}") for number in range(10))
    )
    assert [reply_of(pieces).text for pieces in answers] == [f"I am {n}" for n in range(10)]
