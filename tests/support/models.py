"""Calls of models in tests: a session's router beside a scripted server, and what it streams."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from tests.support.model_server import ModelServer
from trunkline.execution.errors import ModelError
from trunkline.execution.llm.base import (
    Call,
    Message,
    Piece,
    Reply,
    Text,
    Thinking,
    ToolSpec,
    Usage,
)
from trunkline.execution.llm.patience import NEWS_S
from trunkline.execution.llm.router import Router, Shelf

Json = dict[str, Any]
Said = str | list[Message]
KEY = "sk-test-0123456789abcdef"
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-5-5"}


class Control:
    """Stands for the daemon: answers requests from a table, and keeps them."""

    def __init__(self, answers: Json | None = None) -> None:
        self.answers = answers or {}
        self.requests: list[str] = []
        self.reports: list[tuple[str, int, Usage]] = []
        """Of usage: the model, how long it took, its tokens."""

    async def request(self, method: str, **params: Any) -> Any:
        self.requests.append(method)
        answer = self.answers.get(method, ConnectionError("the line is down"))
        if callable(answer):
            return await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fire_and_forget(self, method: str, **params: Any) -> None:
        assert method == "usage_report"
        model, latency_ms = params.pop("model"), params.pop("latency_ms")
        self.reports.append((model, latency_ms, Usage(**params)))


class Session:
    """A router with everything that it did: pauses instead of sleeps, reports, requests."""

    def __init__(
        self,
        server: ModelServer | None = None,
        *,
        keys: dict[str, str] | None = None,
        config: Json | None = None,
        control: Control | None = None,
        pictures: Shelf | None = None,
        news_s: tuple[float, ...] = NEWS_S,
    ) -> None:
        self.pauses: list[float] = []
        self.control = control or Control()
        self.reports = self.control.reports
        self.now = 0.0
        env = {}
        if server is not None:
            env = {"OPENAI_BASE_URL": server.openai_url, "ANTHROPIC_BASE_URL": server.anthropic_url}
        self.router = Router(
            {"openai": KEY, "anthropic": KEY} if keys is None else keys,
            config or {},
            self.control,
            sleep=self._sleep,
            env=env,
            pictures=pictures,
            news_s=news_s,
            clock=self._clock,
        )

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.router.close()

    async def ask(self, model: str, said: Said = "Hi", **options: Any) -> list[Piece]:
        return await collect(self.router.stream(call(model, said, **options)))

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def _clock(self) -> float:
        self.now += 0.25
        return self.now


def call(model: str, said: Said = "Hi", **options: Any) -> Call:
    messages = [Message(role="user", content=said)] if isinstance(said, str) else said
    return Call(model=model, system=options.pop("system", "Be kind."), messages=messages, **options)


async def collect(stream: AsyncGenerator[Piece, None]) -> list[Piece]:
    async with aclosing(stream) as pieces:
        return [piece async for piece in pieces]


async def failing(stream: AsyncGenerator[Piece, None]) -> tuple[list[Piece], ModelError]:
    """What a stream says before it fails, and how it fails."""
    said: list[Piece] = []
    async with aclosing(stream) as pieces:
        try:
            async for piece in pieces:
                said += [piece]
        except ModelError as error:
            return said, error
    raise AssertionError(f"the call did not fail: {said!r}")


def text_of(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if isinstance(piece, Text)]


def news_of(pieces: list[Piece]) -> list[str]:
    """What was told of the model itself."""
    return [one.text for one in pieces if isinstance(one, Thinking) and one.stage == "model"]


def reply_of(pieces: list[Piece]) -> Reply:
    """The reply, which is the last piece and the only one of its kind."""
    replies = [piece for piece in pieces if isinstance(piece, Reply)]
    assert replies == pieces[-1:]
    return replies[0]


BASH = ToolSpec(
    name="bash",
    description="Runs a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
)


def tool(name: str) -> ToolSpec:
    return ToolSpec(name=name, description=name, parameters={"type": "object", "properties": {}})


def used_tool(
    call_id: str = "call_1",
    result: str | None = "a.txt",
    *,
    name: str = "bash",
    **extra: Any,
) -> list[Message]:
    """A conversation in which a tool was called, and answered unless `result` is None."""
    assistant = Message(
        role="assistant",
        content="Let me look.",
        tool_calls=[{"id": call_id, "name": name, "arguments": {"command": "ls"}}],
    )
    assistant.update(extra)  # type: ignore[typeddict-item]
    messages = [Message(role="user", content="What is here?"), assistant]
    if result is not None:
        messages.append(Message(role="tool", content=result, tool_call_id=call_id))
    return messages
