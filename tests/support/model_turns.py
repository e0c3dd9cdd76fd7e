"""What a scripted model says, and what it was asked. Knows no provider's format."""

import asyncio
import concurrent.futures
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import model_messages
from tests.support.eventually import WAIT_S

Json = dict[str, Any]

_NOT_SAID = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"  # what OpenClaw adds, in a person's name
_NOTE = re.compile(r"\n\n<note>\n.*?\n</note>", re.DOTALL)  # what our runtime tells beside it


class Latch:
    """Something that happens once; waited for from any thread's event loop."""

    def __init__(self) -> None:
        self._future: concurrent.futures.Future[None] = concurrent.futures.Future()

    @property
    def is_set(self) -> bool:
        return self._future.done()

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self, timeout_s: float = WAIT_S) -> None:
        # Shielded: a waiter that gives up must not cancel the thing for the others.
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._future)), timeout_s)


class Gate:
    """Holds an answer until the test opens it, and tells when the answer has come so far."""

    def __init__(self) -> None:
        self.reached = Latch()
        self._opened = Latch()

    def open(self) -> None:
        self._opened.set()

    async def pass_through(self) -> None:
        self.reached.set()
        await self._opened.wait(2 * WAIT_S)


@dataclass(kw_only=True)
class ToolUse:
    """A tool call of the model. `json` replaces the arguments' JSON text, to break it."""

    name: str
    arguments: Json = field(default_factory=dict)
    id: str | None = None
    json: str | None = None


@dataclass(kw_only=True)
class Failure:
    """An error instead of an answer.

    `kind`: `refused_key`, `rate_limited`, `quota`, `overloaded`, `context_full`,
    `model_not_found`, `bad_request`, `server_error`; each becomes the provider's own status and
    body. `status` and `body` replace them.
    """

    kind: str = "server_error"
    message: str | None = None
    param: str | None = None
    status: int | None = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Turn:
    """One answer. A Gate among the chunks holds the answer there; `gate` before its first byte.

    `cut_after` drops the connection after so many server-sent events (`cut_cleanly` ends the
    body in good order instead, with the rest missing). `raw` replaces the whole body. A
    `failure` with `failure_in_stream` comes as an event after the text.
    """

    text: str = ""
    chunks: Sequence[str | Gate] | None = None
    thinking: str = ""
    tool_calls: Sequence[ToolUse] = ()
    tokens_in: int = 11
    tokens_out: int = 7
    cache_read: int = 0
    cache_write: int = 0
    stop_reason: str | None = None
    failure: Failure | None = None
    failure_in_stream: bool = False
    gate: Gate | None = None
    cut_after: int | None = None
    cut_cleanly: bool = False
    raw: bytes | None = None

    @property
    def whole_text(self) -> str:
        return "".join(piece for piece in self.pieces() if isinstance(piece, str))

    def pieces(self) -> list[str | Gate]:
        """The text as it is streamed: the given chunks, or word by word."""
        if self.chunks is not None:
            return list(self.chunks)
        words = self.text.split(" ")
        return [word if i == 0 else " " + word for i, word in enumerate(words)] if self.text else []


class ModelRequest:
    """One request as it came, and what became of it."""

    def __init__(
        self, provider: str, headers: dict[str, str], body: Json, peer: object = None
    ) -> None:
        self.provider = provider
        self.peer = peer
        self.headers = headers
        self.body = body
        self.disconnected = Latch()
        self.finished = Latch()

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def is_streamed(self) -> bool:
        match self.provider:
            case "anthropic":
                return bool(self.body.get("stream"))
            case "gemini":
                return bool(self.body["method"] == "streamGenerateContent")
            case _:
                return True

    @property
    def messages(self) -> list[Json]:
        """In the form of OpenAI's chat, or of Anthropic's."""
        match self.provider:
            case "responses":
                return model_messages.of_responses(self.body)
            case "gemini":
                return model_messages.of_gemini(self.body)
            case _:
                return list(self.body.get("messages", []))

    @property
    def system(self) -> str:
        if self.provider == "anthropic":
            return _text_of(self.body.get("system", ""))
        told = [one for one in self.messages if one["role"] in ("system", "developer")]
        return "\n".join(_text_of(one["content"]) for one in told)

    @property
    def said(self) -> list[tuple[str, str]]:
        """Roles and texts of the conversation, without notes."""
        told = [(one["role"], _text_of(one["content"])) for one in self.messages]
        return [(role, _NOTE.sub("", text)) for role, text in told if role != "system"]

    @property
    def notes(self) -> str:
        """What the model is told beside the words of people."""
        return "\n".join(
            found for one in self.messages for found in _NOTE.findall(_text_of(one["content"]))
        )

    @property
    def prompt(self) -> str:
        """The newest thing the person said (tool results are not it)."""
        said = [text for role, text in self.said if role == "user"]
        own = (text for text in reversed(said) if text and not text.startswith(_NOT_SAID))
        return next(own, "")

    @property
    def images(self) -> list[str]:
        """All pictures of the conversation, as base64, in their order."""
        return [found for one in self.messages for found in _images_of(one["content"])]

    @property
    def tool_names(self) -> list[str]:
        given = self.body.get("tools", [])
        if self.provider == "gemini":
            given = model_messages.tools_of_gemini(self.body)
        tools = [one.get("function") or one.get("custom") or one for one in given]
        return [str(one.get("name", one.get("type", ""))) for one in tools]

    @property
    def tool_results(self) -> list[str]:
        """The results that the newest message or messages bring."""
        if self.provider != "anthropic":
            results: list[str] = []
            for one in reversed(self.messages):
                if _text_of(one["content"]).startswith(_NOT_SAID):
                    continue
                if one["role"] != "tool":
                    break
                results.insert(0, _text_of(one["content"]))
            return results
        last = self.messages[-1]["content"] if self.messages else ""
        blocks = last if isinstance(last, list) else []
        return [_text_of(one.get("content")) for one in blocks if one["type"] == "tool_result"]


def _images_of(content: Any) -> list[str]:
    found: list[str] = []
    for block in content if isinstance(content, list) else []:
        if block["type"] == "image_url":
            found.append(block["image_url"]["url"].partition(";base64,")[2])
        elif block["type"] == "image":
            found.append(block["source"]["data"])
        elif block["type"] == "tool_result":
            found += _images_of(block["content"])
    return found


def _text_of(content: Any) -> str:
    """Text of a message, whether it is a string or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content if block.get("type") == "text")
    return content if isinstance(content, str) else ""
