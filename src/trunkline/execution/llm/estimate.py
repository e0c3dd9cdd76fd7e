"""How many tokens something has, about, where no provider says it. Pure."""

import msgspec

from trunkline.execution.llm.base import Call, Usage

CHARS_PER_TOKEN = 4
PICTURE_TOKENS = 1_500


def tokens_in(call: Call) -> int:
    """Of what was asked."""
    chars = len(call.system)
    for message in call.messages:
        chars += len(message["content"]) + len(message.get("note", ""))
        chars += sum(len(repr(one["arguments"])) for one in message.get("tool_calls", ()))
    chars += sum(len(one.description) + len(repr(one.parameters)) for one in call.tools)
    pictures = sum(1 for one in call.images.values() if one)
    return chars // CHARS_PER_TOKEN + pictures * PICTURE_TOKENS


def completed(known: Usage, call: Call, chars: int) -> Usage:
    """What a call took that broke off: as far as its provider said, and else about so much."""
    return msgspec.structs.replace(
        known,
        tokens_in=known.tokens_in or tokens_in(call),
        tokens_out=max(known.tokens_out, tokens_out(chars)),
    )


def tokens_out(chars: int) -> int:
    """Of an answer with so many characters."""
    return -(-chars // CHARS_PER_TOKEN)
