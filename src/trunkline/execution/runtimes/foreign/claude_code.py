"""Claude Code's conversations: `projects/<folder's name>/<session id>.jsonl`, one record a line.

Records name their parent: what was taken back is a branch that the newest record is not on. Other
records (attachments, requests, costs) are links of that chain or nothing to us.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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

RUNTIME = "claude-code"

_COUNTED_BYTES_MAX = 16 * limits.MIB  # a larger file's messages are not counted
_HEAD_BYTES_MAX = 1 * limits.MIB  # in which the first thing said stands
_FILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
_SPOKEN = (b'"type":"user"', b'"type":"assistant"')
_NAMED = (b'"custom-title"', b'"ai-title"', b'"type":"summary"')
# What the program says in the user's name: commands of its own, and what they printed.
_NOT_SAID = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "Caveat: ", "[Request ")


def base(home: Path, env: Mapping[str, str]) -> Path:
    own = env.get("CLAUDE_CONFIG_DIR")
    return (Path(own) if own else home / ".claude") / "projects"


def find(folder: Path) -> list[Found]:
    """The files that may be conversations."""
    return files_below(folder, lambda name: _FILE.fullmatch(name) is not None, depth=2)


def id_of(found: Found) -> str:
    return found.path.stem


def summary(found: Found) -> Conversation | None:
    """What the list shows of a file; None where nobody has said anything in it."""
    is_counted = found.size <= _COUNTED_BYTES_MAX
    folders: list[str] = []
    title, first, count, started_at = "", "", 0, 0
    for record in _spoken(found, _COUNTED_BYTES_MAX, *_SPOKEN, *_NAMED):
        match record.get("type"):
            case "user" | "assistant" if not record.get("isSidechain"):
                if isinstance(cwd := record.get("cwd"), str) and cwd not in folders:
                    folders = [*folders, cwd][:100]
                started_at = started_at or ms(record.get("timestamp"))
                text = _said_by_user(record)
                first = first or text or ""
                count += text is not None or record["type"] == "assistant"
            case "custom-title" | "ai-title" | "summary":
                name = record.get("customTitle") or record.get("aiTitle") or record.get("summary")
                title = name if isinstance(name, str) else title
    if not folders or not first:
        return None
    conversation_id = id_of(found)
    return Conversation(
        runtime=RUNTIME,
        id=conversation_id,
        title=title_of(title or first),
        folder=_home_of(found.path.parent.name, folders),
        started_at=started_at,
        updated_at=found.changed_ms,
        message_count=count if is_counted else None,
        command=resuming.command(RUNTIME, conversation_id),
    )


def _spoken(found: Found, bytes_max: int, *markers: bytes) -> Iterator[Json]:
    """Of a file that is too large to be counted: how it begins, and how it ends."""
    if found.size <= bytes_max:
        yield from records(found.path, bytes_max, *markers)
        return
    for number, record in enumerate(records(found.path, found.size, *markers)):
        yield record
        if number >= 100:
            break
    yield from records(found.path, _HEAD_BYTES_MAX, *_NAMED)


def _home_of(name: str, folders: list[str]) -> str:
    """The folder by which the program finds the conversation: the one that its file is kept
    under, whichever folders it went into since."""
    for folder in folders:
        if re.sub(r"[^A-Za-z0-9]", "-", folder)[:200] == name[:200]:
            return folder
    return folders[0]


def _said_by_user(record: Json) -> str | None:
    """What a person said; None for what is a tool's result or the program's own."""
    if record.get("type") != "user" or record.get("isMeta") or record.get("isCompactSummary"):
        return None
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    text = text_of(content, "text").strip()
    return None if not text or text.startswith(_NOT_SAID) else text


def history(found: Found) -> list[Entry]:
    """What was said and done, oldest first: the newest part."""
    entries: list[Entry] = []
    calls: dict[str, Entry] = {}
    for record in _on_the_branch(list(records(found.path))):
        at = ms(record.get("timestamp"))
        if (text := _said_by_user(record)) is not None:
            entries.append(said("user", text, at))
            continue
        for part in _parts(record):
            _take(part, at, entries, calls)
    return newest(entries)


def _take(part: Json, at: int, entries: list[Entry], calls: dict[str, Entry]) -> None:
    match part.get("type"):
        case "text" if isinstance(part.get("text"), str) and part["text"].strip():
            entries.append(said("assistant", part["text"], at))
        case "tool_use":
            name, call_id = str(part.get("name") or ""), str(part.get("id") or "")
            calls[call_id] = call = tool(name, call_id, part.get("input"), at)
            entries.append(call)
        case "tool_result" if (known := calls.get(str(part.get("tool_use_id")))) is not None:
            result = text_of(part.get("content"), "text")
            ended(known, result, is_error=part.get("is_error") is True)


def _parts(record: Json) -> list[Json]:
    """Of what the assistant said, and of the results of its tools."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    is_assistant = record.get("type") == "assistant"
    if is_assistant and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    parts = [part for part in content if isinstance(part, dict)]
    if is_assistant:
        return parts
    return [part for part in parts if part.get("type") == "tool_result"]


def _on_the_branch(found: list[Json]) -> list[Json]:
    """The records from the first to the newest, along their parents. Tools that ran side by side
    have results beside that chain: all results stay. A parent that is not there was torn or cut
    off: then the record before takes its place."""
    numbers = {one["uuid"]: at for at, one in enumerate(found) if isinstance(one.get("uuid"), str)}
    last = next((at for at in reversed(range(len(found))) if _is_spoken(found[at])), None)
    kept: set[int] = set()
    while last is not None and last not in kept:
        kept.add(last)
        record = found[last]
        parent: Any = record.get("parentUuid") or record.get("logicalParentUuid")
        if parent is None:
            break
        at = numbers.get(parent) if isinstance(parent, str) else None
        last = at if at is not None else _before(found, last)
    return [
        one
        for at, one in enumerate(found)
        if at in kept or (_is_spoken(one) and one["type"] == "user" and _parts(one))
    ]


def _before(found: list[Json], at: int) -> int | None:
    return next(
        (one for one in reversed(range(at)) if isinstance(found[one].get("uuid"), str)), None
    )


def _is_spoken(record: Json) -> bool:
    return record.get("type") in ("user", "assistant") and not record.get("isSidechain")
