"""What was said in another program, as the events of a session. Pure.

Each question is a turn with one end, so that every reader on every wire shows it as it shows what
was said here; `imported` tells the difference.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from trunkline.control.log import events

Json = dict[str, Any]


class Entry(msgspec.Struct, kw_only=True):
    """One thing of a conversation's history, as its machine says it."""

    role: str
    text: str = ""
    at: int = 0
    name: str = ""
    call_id: str = ""
    input: Json = {}
    result: str = ""
    is_error: bool = False


def lines_of(
    entries: Sequence[Entry], *, user_id: str, id_at: Callable[[int], str], latest: int
) -> list[str]:
    """The log's lines. `latest`: no event is later than this, whatever the machine says. Turns are
    listed by their ids: each has one of a later moment than the one before."""
    lines: list[str] = []
    at = made_at = 0
    turns = list(_turns(entries))
    for left, turn in zip(range(len(turns), 0, -1), turns, strict=True):
        made_at = max(made_at + 1, min(turn[0].at, latest - left))
        turn_id = id_at(made_at)

        def make(kind: str, entry: Entry, turn_id: str = turn_id, **fields: Any) -> None:
            nonlocal at
            at = max(at, min(entry.at, latest))
            lines.append(events.make(kind, at, **fields, turn_id=turn_id, imported=True))

        asked, rest = turn[0], turn[1:]
        make("user_message", asked, content=asked.text, user_id=user_id)
        for number, entry in enumerate(rest, 1):
            if entry.role == "assistant":
                # A piece ends where the next begins: what is read together has its lines apart.
                is_followed = number < len(rest) and rest[number].role == "assistant"
                make("text_chunk", entry, content=entry.text + ("\n\n" if is_followed else ""))
            else:
                _call(make, entry, f"{turn_id}-{number}")
        end: Json = {"content": _answer(rest)} if rest else {"content": "", "cancelled": True}
        make("execution_complete", turn[-1], **end)
    return lines


def _call(make: Callable[..., None], entry: Entry, own_id: str) -> None:
    name = entry.name or "tool"
    call: Json = {"tool_name": name, "tool_input": entry.input}
    call["tool_call_id"] = entry.call_id or own_id
    make("tool_call_start", entry, **call)
    result: Json = {"result": entry.result, "is_error": entry.is_error}
    make("tool_call_complete", entry, **call, **result)


def _answer(rest: Sequence[Entry]) -> str:
    """What was said last, without what was said between tools before."""
    texts: list[str] = []
    for entry in reversed(rest):
        if entry.role != "assistant":
            break
        texts.append(entry.text)
    return "\n\n".join(reversed(texts))


def _turns(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """From each question to the next; what stands before the first one is of none."""
    turn: list[Entry] = []
    for entry in entries:
        if entry.role == "user":
            if turn:
                yield turn
            turn = [entry]
        elif turn and entry.role in ("assistant", "tool"):
            turn.append(entry)
    if turn:
        yield turn
