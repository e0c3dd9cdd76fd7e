"""What a call took that broke off, where no provider says it. Pure."""

import math

import msgspec

from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Call, Usage


def tokens_in(call: Call) -> int:
    """Of what was asked."""
    asked = tokens.of_text(call.system) + tokens.of_tools(call.tools)
    return round(asked + tokens.of_messages(call.messages))


def completed(known: Usage, call: Call, said: float) -> Usage:
    """As far as its provider told it, and else about so much; `said` is in tokens."""
    whole = known if known.tokens_in else msgspec.structs.replace(known, tokens_in=tokens_in(call))
    return spoken(whole, said)


def spoken(known: Usage, said: float) -> Usage:
    """With an answer of at least so many tokens."""
    return msgspec.structs.replace(known, tokens_out=max(known.tokens_out, math.ceil(said)))
