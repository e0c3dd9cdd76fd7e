"""`data` of `claude_output` and `yeaft_output`: Claude's stream-json, whichever
provider runs below (docs/protocols/yeaft.md#output-data).

Lenient: what is odd in one field must not hide the rest. The relay never needs this; the log does,
for readers of other protocols. `stream_json` writes it.
"""

from typing import Any, Final

import msgspec

from trunkline.wire.yeaft.stream_json import SUCCESS

TYPES: Final = frozenset(("assistant", "user", "result", "system"))


class Block(msgspec.Struct, gc=False):
    """One piece of a message: `text`, `thinking`, `tool_use` or `tool_result`."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: Any = None
    content: Any = None
    is_error: Any = None


class Said(msgspec.Struct, gc=False):
    """A message of the assistant, or what its tools gave back."""

    content: list[Block] | str | None = None

    @property
    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content or []


class Output(msgspec.Struct, gc=False):
    """`assistant`, `user`, `result` or `system`, with the fields of each."""

    type: str
    message: Said | str | None = None
    subtype: Any = None
    session_id: Any = None
    is_error: Any = None
    result: Any = None
    duration_ms: Any = None
    total_cost_usd: Any = None
    num_turns: Any = None
    usage: Any = None
    error: Any = None
    tool_use_id: Any = None
    content: Any = None

    @property
    def blocks(self) -> list[Block]:
        return self.message.blocks if isinstance(self.message, Said) else []

    @property
    def text(self) -> str:
        """Its blocks of text, one behind the other."""
        texts = (block.text for block in self.blocks if block.type == "text")
        return "".join(text for text in texts if isinstance(text, str))

    @property
    def has_failed(self) -> bool:
        """Of a `result`. One that names no subtype says it with `is_error` alone."""
        return bool(self.is_error) or self.subtype not in (None, SUCCESS)


class Usage(msgspec.Struct, omit_defaults=True):
    """What a `result` says of its cost, in the words of a session event."""

    calls: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cache_read_tokens: int | None = None
    duration_ms: int | None = None
    cost_usd: float | None = None


def usage_of(result: Output) -> Usage | None:
    """None where the agent says nothing of it."""
    given = result.usage if isinstance(result.usage, dict) else {}
    usage = Usage(
        calls=_count(result.num_turns),
        tokens_in=_count(given.get("input_tokens")),
        tokens_out=_count(given.get("output_tokens")),
        cache_read_tokens=_count(given.get("cache_read_input_tokens")),
        duration_ms=_count(result.duration_ms),
        cost_usd=_cost(result.total_cost_usd),
    )
    return None if usage == Usage() else usage


def shown(content: Any) -> str:
    """A tool's result as text: a list of blocks is the text of each, and what else there is."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_shown_block(block) for block in content)
    return msgspec.json.encode(content).decode()


def _shown_block(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, dict):
        text = block.get("text")
        if isinstance(text, str):
            return text
        if isinstance(block.get("type"), str) and block.get("type") != "text":
            return f"[{block['type'][:40]}]"  # an image's bytes are nothing to read
    return msgspec.json.encode(block).decode()


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else None


def _cost(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**53 else None
