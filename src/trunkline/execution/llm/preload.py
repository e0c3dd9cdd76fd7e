"""Everything of models that takes long to import or to make; a fork server does it once.

The SDKs load and build most of their parts when first used, which takes a fifth of a second. So a
call of each is rehearsed here, with an answer from memory; a session's first call finds it all.
"""

import asyncio
import importlib

import httpx2

from trunkline.execution.llm import router as router
from trunkline.execution.llm.anthropic_provider import AnthropicProvider
from trunkline.execution.llm.base import Call, Message, ToolSpec
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.openai_provider import OpenAIProvider

# What only a real connection would load.
_PARTS = ("anyio._backends._asyncio", "anyio.streams.memory", "concurrent.futures.thread")
_URL = "http://rehearsal.invalid"
_OPENAI = (
    b'data: {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": '
    b'[{"index": 0, "delta": {"role": "assistant", "content": "x", "tool_calls": [{"index": 0, '
    b'"id": "x", "type": "function", "function": {"name": "x", "arguments": "{}"}}]}, '
    b'"finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, '
    b'"total_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}}\n\ndata: [DONE]\n\n'
)
_ANTHROPIC = b"".join(
    b"event: %s\ndata: %s\n\n" % event
    for event in (
        (
            b"message_start",
            b'{"type": "message_start", "message": {"id": "x", "type": "message", "role": '
            b'"assistant", "model": "x", "content": [], "usage": {"input_tokens": 1}}}',
        ),
        (
            b"content_block_start",
            b'{"type": "content_block_start", "index": 0, "content_block": {"type": "text", '
            b'"text": ""}}',
        ),
        (
            b"content_block_delta",
            b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", '
            b'"text": "x"}}',
        ),
        (
            b"message_delta",
            b'{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": '
            b'{"output_tokens": 1}}',
        ),
        (b"message_stop", b'{"type": "message_stop"}'),
    )
)


def preload() -> None:
    """Opens no connection and leaves no thread behind. Not to be called inside an event loop."""
    for part in _PARTS:
        importlib.import_module(part)
    asyncio.run(_rehearse())


async def _rehearse() -> None:
    http = HttpClient(httpx2.MockTransport(_answer))
    call = Call(
        model="x",
        system="x",
        messages=[Message(role="user", content="x")],
        tools=[ToolSpec(name="x", description="x", parameters={"type": "object"})],
    )
    for provider in (
        OpenAIProvider(api_key="x", base_url=_URL, http=http),
        AnthropicProvider(api_key="x", base_url=_URL, http=http),
    ):
        async for _ in provider.stream(call):
            pass
    await http.close()


def _answer(request: httpx2.Request) -> httpx2.Response:
    body = _ANTHROPIC if request.url.path.endswith("/messages") else _OPENAI
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
