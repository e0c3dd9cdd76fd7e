"""Codex's conversations: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

The first record says where the conversation lives. What a person said stands in events, beside
what the program itself put into the user's mouth; files of older versions have only the latter.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.foreign.bounded_files import Found, files_below, records
from trunkline.execution.runtimes.foreign.conversation import (
    Conversation,
    Entry,
    ended,
    ms,
    newest,
    said,
    text_of,
    title_of,
    tool,
)
from trunkline.wire import resuming

RUNTIME, PRESET = "acp", "codex"

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FILE = re.compile(rf"rollout-[0-9T-]{{10,30}}-({_ID.pattern})\.jsonl")
_COUNTED_BYTES_MAX = 16 * limits.MIB
_SPOKEN = (b'"session_meta"', b'"message"', b'"user_message"', b'"UserMessage"')
_NOT_SAID = ("<", "# AGENTS.md", "# Context from my IDE")


def base(home: Path, env: Mapping[str, str]) -> Path:
    own = env.get("CODEX_HOME")
    return (Path(own) if own else home / ".codex") / "sessions"


def find(folder: Path) -> list[Found]:
    return files_below(folder, lambda name: _FILE.fullmatch(name) is not None, depth=4)


def id_of(found: Found) -> str:
    named = _FILE.fullmatch(found.path.name)
    return named[1] if named else ""


def summary(found: Found) -> Conversation | None:
    """None for a file that says no folder, is a helper's, or has nothing that was said."""
    meta: Json = {}
    spoken: list[Entry] = []
    is_counted = found.size <= _COUNTED_BYTES_MAX
    for number, record in enumerate(records(found.path, max(found.size, 1), *_SPOKEN)):
        if record.get("type") == "session_meta" and not meta:
            meta = _payload(record)
        spoken += [one for one in _entries([record], {}) if one.role != "tool"]
        if not is_counted and number >= 100:
            break
    folder, source = meta.get("cwd"), meta.get("source")
    first = next((one.text for one in _told_once(spoken) if one.role == "user"), None)
    if not isinstance(folder, str) or isinstance(source, dict) or first is None:
        return None
    conversation_id = id_of(found)
    return Conversation(
        runtime=RUNTIME,
        preset=PRESET,
        id=conversation_id,
        title=title_of(first),
        folder=folder,
        started_at=ms(meta.get("timestamp")) or spoken[0].at,
        updated_at=found.changed_ms,
        message_count=len(_told_once(spoken)) if is_counted else None,
        command=resuming.command(PRESET, conversation_id),
    )


def history(found: Found) -> list[Entry]:
    calls: dict[str, Entry] = {}
    return newest(_told_once(list(_entries(records(found.path), calls))))


def _told_once(entries: list[Entry]) -> list[Entry]:
    """Where events say what a person said, the messages to the model do not count for that."""
    has_events = any(one.role == "user" and one.name for one in entries)
    told: list[Entry] = []
    for one in entries:
        if one.role != "user":
            told.append(one)
        elif bool(one.name) == has_events and (has_events or not one.text.startswith(_NOT_SAID)):
            told.append(said("user", one.text, one.at))
    return told


_EVENT = "event"
"""Set as the name of what a person said, where an event says it."""


def _entries(found: Iterator[Json] | list[Json], calls: dict[str, Entry]) -> Iterator[Entry]:
    for record in found:
        at, payload = ms(record.get("timestamp")), _payload(record)
        match record.get("type"):
            case "event_msg":
                text = _event_text(payload)
                if text.strip():
                    yield msgspec.structs.replace(said("user", text, at), name=_EVENT)
            case "response_item":
                yield from _item(payload, at, calls)


def _event_text(payload: Json) -> str:
    if payload.get("type") == "user_message":
        return text_of(payload.get("message"))
    item: Any = payload.get("item")
    is_item = payload.get("type") == "item_completed" and isinstance(item, dict)
    if is_item and item.get("type") == "UserMessage":
        return text_of(item.get("content"), "text")
    return ""


def _item(payload: Json, at: int, calls: dict[str, Entry]) -> Iterator[Entry]:
    call_id = str(payload.get("call_id") or "")
    match payload.get("type"):
        case "message" if payload.get("role") in ("user", "assistant"):
            text = text_of(payload.get("content"), "input_text", "output_text", "text").strip()
            if text:
                yield said(payload["role"], text, at)
        case "function_call" | "custom_tool_call":
            given = payload.get("arguments", payload.get("input"))
            calls[call_id] = call = tool(str(payload.get("name") or ""), call_id, _read(given), at)
            yield call
        case "local_shell_call":
            calls[call_id] = call = tool("shell", call_id, payload.get("action"), at)
            yield call
        case "function_call_output" | "custom_tool_call_output" if call_id in calls:
            output = payload.get("output")
            content = output.get("content") if isinstance(output, dict) else output
            text = text_of(content, "input_text", "output_text", "text")
            is_error = isinstance(output, dict) and output.get("success") is False
            ended(calls[call_id], text, is_error=is_error)


def _read(given: object) -> object:
    """Arguments are JSON inside a string, mostly."""
    if not isinstance(given, str):
        return given
    try:
        read = msgspec.json.decode(given)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return given
    return read if isinstance(read, dict) else given


def _payload(record: Json) -> Json:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else {}
