"""Servers that send nonsense, stop in the middle, or never stop."""

import json

import pytest

from tests.support.model_server import Failure, ModelServer, ToolUse, Turn
from tests.support.models import BASH, MODELS, Session, call, collect, failing, reply_of, text_of
from trunkline.execution.errors import ModelError
from trunkline.execution.llm.base import Usage
from trunkline.execution.llm.reply_builder import (
    MODEL_ARGUMENTS_CHARS_MAX,
    MODEL_MALFORMED_CHARS,
    MODEL_REPLY_CHARS_MAX,
    MODEL_TOOL_CALLS_MAX,
)

PROVIDERS = sorted(MODELS)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "broken",
    ['{"command": "ls', "[1, 2]", "ls -l", "NaN", '{"a": ' * 200 + "1" + "}" * 200, '{"a":1}}'],
)
async def test_arguments_that_are_no_object_reach_the_tool_as_malformed(
    server: ModelServer, session: Session, provider: str, broken: str
) -> None:
    server.script(Turn(tool_calls=[ToolUse(name="bash", json=broken)]))
    [made] = reply_of(await session.ask(MODELS[provider], tools=[BASH])).tool_calls
    assert made["name"] == "bash"
    assert made["arguments"] == {"_malformed": broken}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_huge_arguments_are_shown_back_in_part(
    server: ModelServer, session: Session, provider: str
) -> None:
    huge = json.dumps({"content": "x" * (MODEL_ARGUMENTS_CHARS_MAX + 1)})
    server.script(Turn(tool_calls=[ToolUse(name="bash", json=huge)]))
    [made] = reply_of(await session.ask(MODELS[provider])).tool_calls
    assert made["arguments"] == {"_malformed": huge[:MODEL_MALFORMED_CHARS]}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_tool_that_nobody_offered_is_passed_on_by_its_name(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(tool_calls=[ToolUse(name="launch missiles!", id="x")]))
    [made] = reply_of(await session.ask(MODELS[provider], tools=[BASH])).tool_calls
    assert made == {"id": "x", "name": "launch missiles!", "arguments": {}}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_unknown_reason_to_stop_is_passed_on(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(text="Hm.", stop_reason="felt_like_it"))
    assert reply_of(await session.ask(MODELS[provider])).stop_reason == "felt_like_it"


@pytest.mark.parametrize(("provider", "word"), [("openai", "length"), ("anthropic", "max_tokens")])
async def test_an_answer_that_was_cut_for_length_says_so(
    server: ModelServer, session: Session, provider: str, word: str
) -> None:
    server.script(Turn(text="And then", stop_reason=word))
    assert reply_of(await session.ask(MODELS[provider])).stop_reason == "length"


@pytest.mark.parametrize(
    ("provider", "word"), [("openai", "content_filter"), ("anthropic", "refusal")]
)
async def test_a_model_that_refuses_and_says_nothing_is_an_error_without_a_retry(
    server: ModelServer, session: Session, provider: str, word: str
) -> None:
    server.script(Turn(stop_reason=word))
    with pytest.raises(ModelError) as failed:
        await session.ask(MODELS[provider])
    assert failed.value.code == "MODEL_REFUSED"
    assert session.pauses == []


@pytest.mark.parametrize("usage", [b"5", b"[1]", b'{"prompt_tokens": "many", "input_tokens": {}}'])
@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        (
            "openai",
            b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}], '
            b'"usage": %s}\n\n',
        ),
        (
            "anthropic",
            b'event: message_start\ndata: {"type": "message_start", "message": {"usage": %s}}\n\n'
            b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, '
            b'"content_block": {"type": "text", "text": "Hi"}}\n\n'
            b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
        ),
    ],
)
async def test_a_usage_that_is_no_usage_counts_nothing_and_the_answer_stands(
    server: ModelServer, session: Session, provider: str, answer: bytes, usage: bytes
) -> None:
    server.script(Turn(raw=answer % usage))
    reply = reply_of(await session.ask(MODELS[provider]))
    assert (reply.text, reply.usage) == ("Hi", Usage())


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "nothing",
    [
        Turn(raw=b""),
        Turn(raw=b": keep-alive\n\n"),
        Turn(raw=b"data: not json\n\n"),
        Turn(raw=b"event: message_start\ndata: {}\n\n"),
        Turn(raw=b'data: {"choices": 5}\n\nevent: message_start\ndata: 5\n\n'),
        Turn(raw=b'data: {"choices": [{"delta": {"tool_calls": 7}}]}\n\n'),
        Turn(raw=b'event: content_block_start\ndata: {"type": "content_block_start"}\n\n'),
        Turn(raw=b"\xff\xfe\x00\n\n"),
        Turn(text="lost", cut_after=0),
        Turn(text="lost", cut_after=1),
        Turn(text="lost", cut_after=1, cut_cleanly=True),
        Turn(failure=Failure(kind="server_error")),
        Turn(failure=Failure(status=502, body=b"<html><h1>Bad gateway</h1></html>")),
        Turn(failure=Failure(status=503, body=b"")),
        Turn(failure=Failure(kind="overloaded"), failure_in_stream=True),
    ],
    ids=lambda turn: repr(turn.raw or turn.failure or turn.cut_after)[:40],
)
async def test_what_is_no_answer_is_asked_for_again(
    server: ModelServer, session: Session, provider: str, nothing: Turn
) -> None:
    server.script(nothing, Turn(text="Here I am."))
    pieces = await session.ask(MODELS[provider])
    assert text_of(pieces) == ["Here", " I", " am."]
    assert session.pauses == [1.0]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("cleanly", [True, False])
async def test_an_answer_that_breaks_off_is_an_error_and_is_not_said_twice(
    server: ModelServer, session: Session, provider: str, cleanly: bool
) -> None:
    server.script(Turn(text="one two three four five six", cut_after=5, cut_cleanly=cleanly))
    said, failed = await failing(session.router.stream(call(MODELS[provider])))
    assert failed.code == "MODEL_UNREACHABLE"
    assert "broke off in the middle of the answer" in failed.message
    assert text_of(said)[0] == "one"
    assert len(server.requests) == 1
    # Anthropic tells at the start what the question took; OpenAI says nothing before the end, so
    # that it is estimated: "Be kind." and "Hi" are ten characters, and one message.
    [(model, _, usage)] = session.reports
    assert model == MODELS[provider]
    assert usage.tokens_in == (11 if provider == "anthropic" else 8)
    assert 1 <= usage.tokens_out <= 7


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_error_in_the_middle_of_the_answer_ends_it_with_its_reason(
    server: ModelServer, session: Session, provider: str
) -> None:
    server.script(Turn(text="Well,", failure=Failure(kind="overloaded"), failure_in_stream=True))
    with pytest.raises(ModelError) as failed:
        await session.ask(MODELS[provider])
    assert failed.value.code in ("MODEL_OVERLOADED", "MODEL_ERROR")
    assert "overloaded" in failed.value.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_without_end_is_ended(
    server: ModelServer, session: Session, provider: str
) -> None:
    piece = "blah " * 20_000
    server.script(Turn(chunks=[piece] * (MODEL_REPLY_CHARS_MAX // len(piece) + 2)))
    with pytest.raises(ModelError, match="longer than can be taken"):
        await session.ask(MODELS[provider])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_tool_calls_without_number_are_refused(
    server: ModelServer, session: Session, provider: str
) -> None:
    many = [ToolUse(name="bash")] * (MODEL_TOOL_CALLS_MAX + 1)
    server.script(Turn(tool_calls=many))
    with pytest.raises(ModelError, match="longer than can be taken"):
        await session.ask(MODELS[provider])


async def test_a_character_cut_in_two_is_joined_and_a_lone_half_replaced(
    server: ModelServer, session: Session
) -> None:
    def chunk(content: str, finish: str = "null") -> bytes:
        delta = f'{{"content":"{content}"}}'
        choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
        return f'data: {{"id":"x","choices":[{choice}]}}\n\n'.encode()

    halves = [chunk("a\\ud83d"), chunk("\\ude00b"), chunk("\\udc00!", '"stop"')]
    server.script(Turn(raw=b"".join(halves)))
    reply = reply_of(await session.ask("gpt-4o"))
    assert reply.text == "a😀b\ufffd!"
    assert reply.text.encode()


async def test_parallel_calls_that_share_an_index_are_told_apart_by_their_ids(
    server: ModelServer, session: Session
) -> None:
    parts = b"".join(
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"%s","function":'
        b'{"name":"bash","arguments":"{}"}}]},"finish_reason":null}]}\n\n' % call_id
        for call_id in (b"one", b"two")
    )
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    server.script(Turn(raw=parts + end))
    made = reply_of(await session.ask("gpt-4o")).tool_calls
    assert [one["id"] for one in made] == ["one", "two"]


async def test_calls_without_an_id_or_with_the_same_get_their_own(
    server: ModelServer, session: Session
) -> None:
    calls = [ToolUse(name="bash", id="same"), ToolUse(name="bash", id="same")]
    server.script(Turn(tool_calls=calls))
    made = reply_of(await collect(session.router.stream(call("claude-sonnet-5-5")))).tool_calls
    assert made[0]["id"] == "same"
    assert made[1]["id"] not in ("", "same")
