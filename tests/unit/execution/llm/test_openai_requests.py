"""What OpenAI and servers like it are sent, and what is given up when they refuse it."""

import json

import pytest

from tests.support.model_server import Failure, ModelServer, ToolUse, Turn
from tests.support.models import (
    BASH,
    Session,
    call,
    news_of,
    reply_of,
    used_tool,
)
from trunkline.execution.errors import ModelError
from trunkline.execution.llm.base import Message
from trunkline.execution.llm.openai_messages import request


async def test_a_conversation_with_tools_is_sent_in_openais_words(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(text="ok"))
    failed = Message(role="tool", content="no such file", tool_call_id="call_1", is_error=True)
    await session.ask("gpt-4o", [*used_tool(result=None), failed], tools=[BASH])
    body = server.requests[0].body
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "What is here?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": '{"command":"ls"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Error: no such file"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Runs a command.",
                "parameters": BASH.parameters,
            },
        }
    ]
    assert body["stream_options"] == {"include_usage": True}


async def test_names_that_a_model_made_up_are_sent_back_in_a_form_that_is_taken(
    server: ModelServer, session: Session
) -> None:
    server.script(Turn(text="ok"))
    await session.ask("gpt-4o", used_tool("id with space", name="launch missiles!"))
    sent = server.requests[0].messages
    assert sent[2]["tool_calls"][0]["function"]["name"] == "launch_missiles_"
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"]


@pytest.mark.parametrize("model", ["o3-mini", "gpt-5.4-mini", "gpt-6-sol", "o1"])
def test_reasoning_models_get_no_temperature_and_the_newer_limit(model: str) -> None:
    asked = call(model, temperature=0.2, max_tokens=100, thinking_tokens=4_000)
    body = request(asked, frozenset(), is_openai=True, provider="openai")
    assert "temperature" not in body
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (100, "medium")


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest", "llama3"])
def test_other_models_get_their_temperature_and_no_effort(model: str) -> None:
    asked = call(model, temperature=0.0, max_tokens=100, thinking_tokens=4_000)
    body = request(asked, frozenset(), is_openai=False, provider="openai")
    assert (body["temperature"], body["max_tokens"]) == (0.0, 100)
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("stream_options", "unexpected keyword argument 'stream_options'"),
        ("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model."),
        ("tools", "registry/library/tiny does not support tools"),
        ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
         " 'max_completion_tokens' instead."),
    ],
)  # fmt: skip
async def test_a_parameter_that_is_refused_by_name_is_given_up_once_and_for_all(
    server: ModelServer, session: Session, parameter: str, words: str
) -> None:
    refusing = Turn(failure=Failure(kind="bad_request", message=words))
    server.when(lambda request: parameter in request.body, refusing, refusing, refusing)
    server.otherwise(lambda request: Turn(text="ok"))
    for _ in range(2):
        pieces = await session.ask("tiny", temperature=0.2, max_tokens=10, tools=[BASH])
        assert reply_of(pieces).text == "ok"
    assert [parameter in one.body for one in server.requests] == [True, False, False]
    assert session.pauses == []


async def test_a_server_that_knows_next_to_nothing_is_still_asked(
    server: ModelServer, session: Session
) -> None:
    server.does_not_know(
        "stream_options", "tools", "temperature", "max_tokens", "max_completion_tokens"
    )
    server.script(Turn(text="ok"))
    pieces = await session.ask(
        "tiny", [*used_tool(), Message(role="user", content="So?")],
        temperature=0.2, max_tokens=10, tools=[BASH],
    )  # fmt: skip
    assert reply_of(pieces).text == "ok"
    assert "takes no tools" in news_of(pieces)[0]
    body = server.requests[-1].body
    assert set(body) == {"model", "messages", "stream"}
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


async def test_a_bad_schema_is_told_and_not_taken_for_a_server_without_tools(
    server: ModelServer, session: Session
) -> None:
    words = "Invalid schema for function 'bash': in tools[0], 'strin' is not valid."
    server.script(Turn(failure=Failure(kind="bad_request", message=words, param="tools[0]")))
    with pytest.raises(ModelError, match="Invalid schema"):
        await session.ask("gpt-4o", tools=[BASH])
    assert len(server.requests) == 1


async def test_a_server_that_refuses_for_ever_is_not_asked_for_ever(
    server: ModelServer, session: Session
) -> None:
    server.otherwise(
        lambda request: Turn(
            failure=Failure(
                kind="bad_request",
                message="Unsupported: " + ", ".join(sorted(request.body)),
            )
        )
    )
    with pytest.raises(ModelError):
        await session.ask("tiny", temperature=0.2, max_tokens=10, tools=[BASH])
    assert len(server.requests) <= 8


async def test_thoughts_go_back_while_the_turns_tools_are_used_and_not_later(
    server: ModelServer, session: Session
) -> None:
    server.script(
        Turn(thinking="I should look.", tool_calls=[ToolUse(name="bash")]), Turn(text="a.txt"),
        Turn(text="bye"),
    )  # fmt: skip
    reply = reply_of(await session.ask("deepseek-x", tools=[BASH]))
    history = [
        Message(role="user", content="Hi"),
        Message(
            role="assistant",
            content=reply.text,
            tool_calls=reply.tool_calls,
            provider_blocks=reply.provider_blocks or {},
        ),
        Message(role="tool", content="a.txt", tool_call_id=reply.tool_calls[0]["id"]),
    ]
    json.dumps(history)
    await session.ask("deepseek-x", history)
    assert server.requests[1].messages[2]["reasoning_content"] == "I should look."
    await session.ask("deepseek-x", [*history, Message(role="user", content="Bye")])
    assert "reasoning_content" not in server.requests[2].messages[2]


async def test_a_refusal_in_words_is_the_answer(server: ModelServer, session: Session) -> None:
    refusing = (
        b'data: {"choices":[{"index":0,"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}'
        b"\n\n"
    )
    server.script(Turn(raw=refusing))
    assert reply_of(await session.ask("gpt-4o")).text == "I will not."


async def test_a_local_server_needs_no_key(server: ModelServer) -> None:
    server.script(Turn(text="ok"))
    async with Session(server, keys={}) as session:
        assert reply_of(await session.ask("llama3")).text == "ok"
