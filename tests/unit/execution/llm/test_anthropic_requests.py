"""What Anthropic is sent, and what is given up when a model refuses it."""

import copy
import json
from typing import cast

import pytest

from tests.support.model_server import Failure, ModelServer, ToolUse, Turn
from tests.support.models import BASH, Session, reply_of, tool, used_tool
from trunkline.execution.llm.base import Message, Reply

MODEL = "claude-sonnet-5-5"
CACHED = {"type": "ephemeral"}


def kept(reply: Reply) -> Message:
    """The reply as a conversation keeps it, through a checkpoint's JSON."""
    message = Message(
        role="assistant",
        content=reply.text,
        tool_calls=reply.tool_calls,
        provider_blocks=reply.provider_blocks or {},
    )
    return cast(Message, json.loads(json.dumps(message)))


async def test_a_conversation_is_sent_in_turns_with_results_first(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(text="ok"))
    messages = [
        *used_tool(result=None),
        Message(role="tool", content="boom", tool_call_id="call_1", is_error=True),
        Message(role="user", content="And?"),
        Message(role="user", content="Well?"),
    ]
    await session.ask(MODEL, messages)
    assert server.requests[0].messages == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is here?", "cache_control": CACHED}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "call_1", "name": "bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": "boom",
                    "is_error": True,
                },
                {"type": "text", "text": "And?"},
                {"type": "text", "text": "Well?", "cache_control": CACHED},
            ],
        },
    ]


async def test_what_repeats_is_marked_for_the_cache(server: ModelServer, session: Session) -> None:
    server.script(Turn(text="ok"))
    specs = [BASH, tool("read_file")]
    before = copy.deepcopy(specs)
    await session.ask(MODEL, tools=specs)
    body = server.requests[0].body
    assert body["system"] == [{"type": "text", "text": "Be kind.", "cache_control": CACHED}]
    assert [one.get("cache_control") for one in body["tools"]] == [None, CACHED]
    assert body["messages"][-1]["content"][-1]["cache_control"] == CACHED
    assert specs == before


@pytest.mark.parametrize("empty", ["", "  \n"])
async def test_no_empty_text_is_sent(server: ModelServer, session: Session, empty: str) -> None:
    server.script(Turn(text="ok"))
    asked, called, result = used_tool(result=empty)
    called["content"] = empty
    await session.ask(MODEL, [asked, called, result, Message(role="user", content=empty)])
    texts = [
        block.get("text", block.get("content", "x"))
        for message in server.requests[0].messages
        for block in message["content"]
    ]
    assert all(text.strip() for text in texts)


async def test_the_limit_of_tokens_has_a_default_and_no_temperature_is_sent(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(text="ok"), Turn(text="ok"))
    await session.ask(MODEL, temperature=0.3)
    await session.ask(MODEL, max_tokens=77)
    first, second = (one.body for one in server.requests)
    assert (first["max_tokens"], second["max_tokens"]) == (16_384, 77)
    assert "temperature" not in first


async def test_signed_thinking_goes_back_as_it_came(server: ModelServer, session: Session) -> None:
    server.script(
        Turn(thinking="Let me\nsee.", text="Looking.", tool_calls=[ToolUse(name="bash")]),
        Turn(text="done"),
    )
    reply = reply_of(await session.ask(MODEL, tools=[BASH], thinking_tokens=2_000))
    call_id = reply.tool_calls[0]["id"]
    result = Message(role="tool", content="a.txt", tool_call_id=call_id)
    await session.ask(MODEL, [Message(role="user", content="Hi"), kept(reply), result])
    assert server.requests[1].messages[1]["content"] == [
        {"type": "thinking", "thinking": "Let me\nsee.", "signature": "signed-0"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": call_id, "name": "bash", "input": {}},
    ]


async def test_thinking_goes_back_also_when_the_ids_of_the_calls_were_changed(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(thinking="Hm.", tool_calls=[ToolUse(name="bash")]), Turn(text="done"))
    message = kept(reply_of(await session.ask(MODEL, tools=[BASH])))
    message["tool_calls"][0]["id"] = "renamed"
    result = Message(role="tool", content="a.txt", tool_call_id="renamed")
    await session.ask(MODEL, [Message(role="user", content="Hi"), message, result])
    thought, used = server.requests[1].messages[1]["content"]
    assert (thought["type"], used["id"]) == ("thinking", "renamed")


async def test_another_model_does_not_get_the_thoughts(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(thinking="Hm.", text="Yes."), Turn(text="ok"), Turn(text="ok"))
    message = kept(reply_of(await session.ask(MODEL)))
    history = [Message(role="user", content="a"), message, Message(role="user", content="b")]
    await session.ask("claude-opus-5", history)
    await session.ask("gpt-4o", history)
    assert server.requests[1].messages[1]["content"] == [{"type": "text", "text": "Yes."}]
    assert server.requests[2].messages[2] == {"role": "assistant", "content": "Yes."}


async def test_hidden_thinking_is_kept_and_sent_back(server: ModelServer, session: Session) -> None:
    def event(data: dict[str, object]) -> bytes:
        return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()

    block = {"type": "redacted_thinking", "data": "abc"}
    text = {"type": "text", "text": "Yes."}
    server.script(
        Turn(
            raw=event({"type": "message_start", "message": {"usage": {"input_tokens": 1}}})
            + event({"type": "content_block_start", "index": 0, "content_block": block})
            + event({"type": "content_block_start", "index": 1, "content_block": text})
            + event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}})
            + event({"type": "message_stop"})
        ),
        Turn(text="ok"),
    )
    message = kept(reply_of(await session.ask(MODEL)))
    await session.ask(
        MODEL, [Message(role="user", content="a"), message, Message(role="user", content="b")]
    )
    assert server.requests[1].messages[1]["content"] == [block, text]


@pytest.mark.parametrize(
    ("tokens", "sent", "limit"),
    [
        (None, None, 100),
        (0, {"type": "disabled"}, 100),
        (10, {"type": "enabled", "budget_tokens": 1_024}, 1_124),
        (4_000, {"type": "enabled", "budget_tokens": 4_000}, 4_100),
    ],
)
async def test_a_budget_for_thinking_comes_on_top_of_the_answer(
    server: ModelServer, session: Session, tokens: int | None, sent: object, limit: int
) -> None:
    server.script(Turn(text="ok"))
    await session.ask(MODEL, max_tokens=100, thinking_tokens=tokens)
    body = server.requests[0].body
    assert (body.get("thinking"), body["max_tokens"]) == (sent, limit)


async def test_models_that_know_no_budget_think_as_they_like(
    server: ModelServer, session: Session
) -> None:
    words = '"thinking.type.enabled" is not supported for this model. Use "adaptive".'
    server.script(
        Turn(failure=Failure(kind="bad_request", message=words)), Turn(text="ok"), Turn(text="ok")
    )
    for _ in range(2):
        assert reply_of(await session.ask(MODEL, thinking_tokens=2_000)).text == "ok"
    kinds = [one.body["thinking"]["type"] for one in server.requests]
    assert kinds == ["enabled", "adaptive", "adaptive"]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", "signature"),
        ("system.0.cache_control: Extra inputs are not permitted", "cache_control"),
    ],
)
async def test_what_a_gateway_refuses_is_left_out(
    server: ModelServer, session: Session, words: str, gone: str
) -> None:
    server.script(Turn(thinking="Hm.", text="Yes."))
    message = kept(reply_of(await session.ask(MODEL)))
    server.script(Turn(failure=Failure(kind="bad_request", message=words)), Turn(text="ok"))
    history = [Message(role="user", content="a"), message, Message(role="user", content="b")]
    assert reply_of(await session.ask(MODEL, history)).text == "ok"
    assert gone in json.dumps(server.requests[1].body)
    assert gone not in json.dumps(server.requests[2].body)


async def test_a_limit_that_is_too_high_for_the_model_is_lowered(
    server: ModelServer, session: Session
) -> None:
    words = "max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens"
    server.script(Turn(failure=Failure(kind="bad_request", message=words)), Turn(text="ok"))
    assert reply_of(await session.ask(MODEL)).text == "ok"
    assert server.requests[1].body["max_tokens"] == 4_096
