"""Calls that are made again and again with the same result: what ends a turn, and what a model is
told before. Only the very same call counts, never how many calls fail."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.state import Repeat
from trunkline.execution.texts import both_ends

SAME_FAILURES_MAX = 5  # of one call, in one turn
SAME_RESULTS_TOLD = 5  # then the model is told, once

_HINT = (
    f"\n[This very call has had this very result {SAME_RESULTS_TOLD} times in this turn. "
    "Do something else.]"
)


def name_of(call: ToolCall) -> str:
    """The same for calls of the same tool with the same arguments."""
    try:
        text = json.dumps([call["name"], call["arguments"]], sort_keys=True)
    except (RecursionError, ValueError, TypeError):  # nothing that a tool would take
        text = call["id"]
    return _digest(text.encode())


def counted(
    repeats: Mapping[str, Repeat], results: Sequence[tuple[ToolCall, Message]]
) -> dict[str, Repeat]:
    """With what a step brought. Another result than before begins anew; calls that a person did
    not allow do not count."""
    after = dict(repeats)
    for call, message in results:
        if message.get("denied"):
            continue
        name, result = name_of(call), _result(message)
        before = after.get(name)
        times = before["times"] if before is not None and before["result"] == result else 0
        after[name] = Repeat(result=result, times=times + 1)
    return after


def end_if_stuck(
    repeats: Mapping[str, Repeat], results: Sequence[tuple[ToolCall, Message]]
) -> None:
    """Raises TurnError when a call of this step has failed in the same way too often."""
    for call, message in results:
        repeat = repeats.get(name_of(call))
        if message.get("is_error") and repeat and repeat["times"] >= SAME_FAILURES_MAX:
            said = both_ends(message["content"], limits.AUDIT_VALUE_CHARS_MAX)
            raise TurnError(
                "TOOLS_KEEP_FAILING",
                f"The turn was ended: the same call of {call['name']} failed "
                f"{repeat['times']} times in the same way. The last error was: {said}",
            )


def hint(before: Repeat | None, message: Message) -> str:
    """What a model is told beside a result that it has got too often; mostly nothing."""
    if before is None or before["times"] + 1 != SAME_RESULTS_TOLD or message.get("is_error"):
        return ""
    if before["result"] != _result(message):
        return ""
    return _HINT


def _result(message: Message) -> str:
    return _digest(message["content"].removesuffix(_HINT).encode(errors="replace"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
