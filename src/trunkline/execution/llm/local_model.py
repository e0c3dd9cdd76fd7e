"""The small model on this machine, as a provider: the daemon serves it, a session asks it.

It knows little and calls no tools; it gets a short, plain conversation and says what it is.
"""

import contextlib
from collections.abc import AsyncGenerator

import msgspec

from trunkline.execution.errors import ModelError, RequestFailed
from trunkline.execution.line import ControlPlane
from trunkline.execution.llm import sight
from trunkline.execution.llm.base import (
    BaseLLMProvider,
    Call,
    Message,
    Piece,
    Reply,
    Thinking,
    Usage,
)
from trunkline.execution.llm.history import flattened, repaired
from trunkline.execution.llm.http_client import HttpClient
from trunkline.execution.llm.openai_provider import OpenAIProvider

LOCAL_MODEL_HISTORY_CHARS = 6_000  # newest messages; leaves room for the answer
LOCAL_MODEL_ANSWER_TOKENS = 512

NAME = "SmolLM2-135M-Instruct"
INTRODUCTION = (
    f"Answered by {NAME}, a very small model on this machine: it needs no key, knows little, is "
    "often wrong and uses no tools."
)
_SYSTEM = "You are a helpful assistant."
_SYSTEM_CHARS = 500
_TEMPERATURE = 0.2  # what it says at higher ones makes no sense


class LocalProvider(BaseLLMProvider):
    """Asks the daemon where the model is before every call: that starts it when it is not there,
    and keeps it from being stopped."""

    name = "local"

    def __init__(self, control: ControlPlane, http: HttpClient, *, introduces: bool = True) -> None:
        self._control = control
        self._http = http
        self._introduces = introduces
        self._served: Served | None = None
        self._provider: OpenAIProvider | None = None

    async def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        provider, model = await self._found()
        if self._introduces:
            self._introduces = False
            yield Thinking(INTRODUCTION, "model")
        async with contextlib.aclosing(provider.stream(_small(call, model))) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    piece = msgspec.structs.replace(piece, model=call.model)
                yield piece

    async def _found(self) -> tuple[OpenAIProvider, str]:
        try:
            answer = await self._control.request("local.model")
            served = msgspec.convert(answer, Served)
        except RequestFailed as error:
            raise ModelError("MODEL_NOT_FOUND", error.message) from None
        except (TimeoutError, ConnectionError, msgspec.ValidationError) as error:
            why = "it did not start in time" if isinstance(error, TimeoutError) else str(error)
            raise ModelError("MODEL_UNREACHABLE", f"The local model is not there: {why}") from None
        if self._provider is None or served != self._served:
            self._served = served
            self._provider = OpenAIProvider(
                name="local",
                api_key=served.api_key,
                base_url=served.base_url,
                http=self._http,
            )
        return self._provider, served.model


class Served(msgspec.Struct, frozen=True):
    """Where the daemon serves the model."""

    base_url: str
    model: str
    api_key: str = ""


def _small(call: Call, model: str) -> Call:
    """The call for a model with a small head: the opening of the system prompt, the newest
    messages, no tools."""
    messages = flattened(sight.seen(repaired(call.messages), {}, sees=False))
    kept: list[Message] = []
    room = LOCAL_MODEL_HISTORY_CHARS
    for message in reversed(messages):
        content = message["content"][:LOCAL_MODEL_HISTORY_CHARS]
        room -= len(content)
        if kept and room < 0:
            break
        kept.insert(0, {"role": message["role"], "content": content})
    opening = call.system.strip().split("\n\n")[0][:_SYSTEM_CHARS]
    wanted = call.max_tokens or LOCAL_MODEL_ANSWER_TOKENS
    return Call(
        model=model,
        system=f"{_SYSTEM} {opening}".strip(),
        messages=kept,
        temperature=_TEMPERATURE if call.temperature is None else call.temperature,
        max_tokens=min(wanted, LOCAL_MODEL_ANSWER_TOKENS),
    )
