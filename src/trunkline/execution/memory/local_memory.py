"""Short-term memory of one session: three files that a person can read.

Used by the session's process, and by the daemon to restore a session that has moved here. Several
writers may meet: sections are appended whole, the other two files are replaced under a lock. A line
of content in `conversation.md` that looks like a heading gets a backslash before it, which Markdown
shows as it was; so what is parsed is exactly what was said.
"""

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import structlog
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import MemoryFileError
from trunkline.execution.files import append, locked, read_head, read_tail, sweep, write_atomic

CONVERSATION_MESSAGE_CHARS_MAX = 1_000_000  # one section of conversation.md
CONVERSATION_READ_BYTES_MAX = 1 * limits.MIB  # the newest that is read, and that a snapshot carries
SCRATCHPAD_CHARS_MAX = 200_000
CONTEXT_BYTES_MAX = 1 * limits.MIB  # the whole of context.json
CONTEXT_KEY_CHARS_MAX = 200

_Key = Annotated[str, Meta(min_length=1, max_length=CONTEXT_KEY_CHARS_MAX)]

_HEADING = re.compile(r"(?:\A|\n)## \[([^\[\]\s]{1,64})\] (\S{1,64})(?=\n|\Z)")
_LIKE_A_HEADING = re.compile(r"^(\\*)(?=## \[)", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(?=\\*## \[)", re.MULTILINE)
_ROLE = re.compile(r"[^\[\]\s]{1,64}\Z")


class Section(msgspec.Struct, frozen=True):
    """One thing that somebody said."""

    role: str
    at: str
    content: str


def is_role(role: str) -> bool:
    """Whether a heading can name it and be read again."""
    return _ROLE.match(role) is not None


def render(section: Section) -> str:
    """A section as it is appended.

    It begins with a line end, so that a section whose writer was killed in the middle does not
    swallow the next one's heading.
    """
    content = _LIKE_A_HEADING.sub(r"\\\1", section.content)
    return f"\n## [{section.role}] {section.at}\n\n{content}\n"


def parse(text: str) -> list[Section]:
    """Every section, oldest first. What stands before the first heading is not one."""
    pieces = _HEADING.split(text)[1:]
    return [
        Section(role, at, _ESCAPED.sub("", _inner(body)))
        for role, at, body in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True)
    ]


def from_first_heading(text: str) -> str:
    """Without the end of a section that was cut; all of it when one section fills it."""
    heading = _HEADING.search(text)
    return text[heading.start() :] if heading else text


def _inner(body: str) -> str:
    # The end of the heading's line, the empty line, and the end of the content.
    return body.removeprefix("\n").removeprefix("\n").removesuffix("\n")


_log = structlog.get_logger(__name__)


class _Snapshot(msgspec.Struct):
    """Comes from outside."""

    conversation: str | None = None
    context: dict[_Key, Any] | None = None
    scratchpad: str | None = None


class LocalShortTermMemory:
    """`conversation.md`, `context.json` and `scratchpad.md` of one session."""

    def __init__(self, session_dir: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = session_dir / "memory"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clock = clock
        self._conversation = self.folder / "conversation.md"
        self._context = self.folder / "context.json"
        self._scratchpad = self.folder / "scratchpad.md"
        self._lock = self.folder / ".lock"

    async def save_message(self, role: str, content: str) -> None:
        """Appends a section. A very long one is cut, and says so."""
        if not is_role(role):
            raise MemoryFileError("MEMORY_ROLE_INVALID", f"not a role: {role[:100]!r}")
        text = _cut(content, CONVERSATION_MESSAGE_CHARS_MAX)
        append(self._conversation, render(Section(role, self._now(), text)))

    async def get_conversation(self) -> str:
        """The newest part of the file, from a heading on."""
        return self._newest(CONVERSATION_READ_BYTES_MAX)

    async def get_messages(self) -> list[Section]:
        """The same part, as what was said."""
        return parse(await self.get_conversation())

    def _newest(self, bytes_max: int) -> str:
        data, whole = read_tail(self._conversation, bytes_max)
        if not whole:
            # A cut may go through a character; its rest is not UTF-8.
            data = data.lstrip(bytes(range(0x80, 0xC0)))
        text = self._text(data, self._conversation)
        return text if whole else from_first_heading(text)

    async def save_context(self, key: str, value: Any) -> None:
        """Keeps a JSON value under a key."""
        await self._merge_context({key: value})

    async def get_context(self, key: str | None = None) -> Any:
        """One key's value (None when there is none), or all of them."""
        values = {
            name: entry["value"]
            for name, entry in (self._read_context() or {}).items()
            if isinstance(entry, dict) and "value" in entry
        }
        return values if key is None else values.get(key)

    async def _merge_context(self, values: Mapping[str, Any]) -> None:
        now = self._now()
        entries = {key: {"value": value, "updated_at": now} for key, value in values.items()}
        async with locked(self._lock):
            sweep(self.folder)
            kept = self._read_context()
            if kept is None:
                # It may still hold something for a person.
                self._context.replace(self._context.with_suffix(".json.damaged"))
            data = _formatted((kept or {}) | entries)
            if len(data) > CONTEXT_BYTES_MAX:
                raise MemoryFileError(
                    "MEMORY_FULL",
                    f"context.json would have {len(data)} bytes; "
                    f"at most {CONTEXT_BYTES_MAX} are kept",
                )
            write_atomic(self._context, data)

    def _read_context(self) -> dict[str, Any] | None:
        """The entries; None when the file is torn or foreign."""
        data, whole = read_head(self._context, CONTEXT_BYTES_MAX)
        if not data:
            return {}
        try:
            entries = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            problem = str(error) if whole else "too large"
            _log.warning("memory_file_damaged", file=str(self._context), problem=problem)
            return None
        foreign = [k for k, v in entries.items() if not isinstance(v, dict) or "value" not in v]
        if foreign:
            _log.warning("memory_entries_foreign", file=str(self._context), keys=foreign[:10])
        return entries

    async def write_scratchpad(self, content: str) -> None:
        """Replaces the notes. Very long ones are cut, and say so."""
        async with locked(self._lock):
            sweep(self.folder)
            write_atomic(self._scratchpad, _cut(content, SCRATCHPAD_CHARS_MAX))

    async def read_scratchpad(self) -> str:
        """The notes."""
        data, _ = read_head(self._scratchpad, 4 * SCRATCHPAD_CHARS_MAX)
        return self._text(data, self._scratchpad)[:SCRATCHPAD_CHARS_MAX]

    async def get_all_for_snapshot(self) -> dict[str, Any]:
        """What `snapshot_sync` carries; fits into a frame, whatever the files hold."""
        bytes_max = CONVERSATION_READ_BYTES_MAX
        conversation = self._newest(bytes_max)
        # Control characters take six bytes each in JSON.
        while len(msgspec.json.encode(conversation)) > CONVERSATION_READ_BYTES_MAX:
            bytes_max //= 2
            conversation = self._newest(bytes_max)
        return {
            "conversation": conversation,
            "context": await self.get_context(),
            "scratchpad": await self.read_scratchpad(),
        }

    async def restore(self, snapshot: Mapping[str, Any]) -> bool:
        """Takes over what is newer in a snapshot; False when there is nothing newer.

        The control plane sends its newest snapshot with every start, so a session that never
        left finds its own past in it; one that was elsewhere for a while finds more.
        """
        given = _checked(snapshot)
        conversation = (given.conversation or "")[-CONVERSATION_READ_BYTES_MAX:]
        said = await self.get_messages()
        newest = max((section.at for section in said), default="")
        news = [section for section in parse(conversation) if section.at > newest]
        fresh = not said and not await self.get_context()
        if not news and not fresh:
            return False
        if not said:
            append(self._conversation, conversation)
        elif news:
            append(self._conversation, "".join(map(render, news)))
        if given.context:
            await self._merge_context(given.context)
        if given.scratchpad:
            await self.write_scratchpad(given.scratchpad)
        return bool(conversation or given.context or given.scratchpad)

    def _now(self) -> str:
        # One width and one zone, so that times compare as text.
        at = datetime.fromtimestamp(self._clock(), UTC)
        return at.isoformat(timespec="microseconds")

    def _text(self, data: bytes, path: Path) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            _log.warning("memory_file_damaged", file=str(path), problem=str(error))
            return data.decode("utf-8", "replace")


def _cut(text: str, chars_max: int) -> str:
    if len(text) <= chars_max:
        return text
    note = f"\n\n… (cut: {len(text)} characters)"
    return text[: chars_max - len(note)] + note


def _formatted(entries: Mapping[str, Any]) -> bytes:
    """As people can read it. What JSON cannot hold is refused."""
    try:
        return msgspec.json.format(msgspec.json.encode(entries), indent=2)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MemoryFileError("MEMORY_VALUE_INVALID", f"not a context: {error}") from error


def _checked(snapshot: Mapping[str, Any]) -> _Snapshot:
    try:
        return msgspec.convert(snapshot, _Snapshot)
    except msgspec.ValidationError as error:
        raise MemoryFileError("SNAPSHOT_INVALID", f"not a snapshot's memory: {error}") from error
