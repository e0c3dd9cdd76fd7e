"""What a person has changed by hand in a session's memory files since the session wrote them.

Kept beside the files, as digests, so that the next turn can tell the model once. Sections of
`conversation.md` are known by their time and role; what the conversation itself has is never taken
for a person's. Bounded: the newest sections, and so many characters of each file.
"""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from trunkline.execution.files import load_json, save_json
from trunkline.execution.memory.local_memory import LocalShortTermMemory, Section
from trunkline.execution.texts import both_ends

_FILE = ".known.json"
_SECTIONS_MAX = 500  # that are compared
_HEAD_CHARS = 160
_TOLD_CHARS_MAX = 8_000  # of each file
_FILES = ("conversation.md", "context.json", "scratchpad.md")

LAST_ACTION = "last_action"
"""The key of context.json that the session writes itself."""

Stamp = tuple[int, int]


class _Known(msgspec.Struct, kw_only=True):
    """As the model knows the files. `sections`: digest and beginning, by time and role. `block`:
    what the session itself wrote into the scratchpad last."""

    sections: dict[str, tuple[str, str]] = {}
    context: str = ""
    scratchpad: str = ""
    block: str = ""


class Edits:
    """Of one session. `news` at the start of a turn, `keep` at its end."""

    def __init__(self, memory: LocalShortTermMemory) -> None:
        self._memory = memory
        self._path = memory.folder / _FILE
        self._known = load_json(self._path, _Known, "what is known of memory files")
        self._stamps: dict[str, Stamp | None] = {}

    async def news(self, said: Collection[str]) -> list[str]:
        """What a person changed, for the model; `said` is what the conversation has anyway."""
        stamps = self._look()
        if stamps == self._stamps:
            return []
        before, now = self._known, await self._read()
        self._known, self._stamps = now, stamps
        if before is None:  # a session's first turn, or one of an earlier version
            return []
        now.block = before.block
        told = [
            _of_conversation(before, await self._memory.get_messages(), said),
            await self._of_context(before),
            await self._of_scratchpad(before),
        ]
        return [one for one in told if one]

    async def keep(self, said: Collection[str]) -> None:
        """What the turn has `said` is known too; what a person changed meanwhile is not yet."""
        before = self._known or _Known()
        sections = (await self._memory.get_messages())[-_SECTIONS_MAX:]
        ours = {_name(one): _known(one) for one in sections if one.content in said}
        merged = {**ours, **before.sections}
        before.sections = dict(sorted(merged.items())[-_SECTIONS_MAX:])
        self._known = before
        save_json(self._path, before, "what is known of memory files")

    async def write_block(self, block: str) -> None:
        """The session's own part of the scratchpad; what a person wrote there stays."""
        known = self._known = self._known or _Known()
        now = await self._memory.read_scratchpad()
        is_known = _digest(now) == known.scratchpad or not now
        theirs = (now.replace(known.block, "") if known.block else now).rstrip()
        text = f"{theirs}\n\n{block}" if theirs else block
        await self._memory.write_scratchpad(text)
        known.block = block
        if is_known:
            known.scratchpad = _digest(text)

    async def _read(self) -> _Known:
        sections = (await self._memory.get_messages())[-_SECTIONS_MAX:]
        return _Known(
            sections={_name(one): _known(one) for one in sections},
            context=_digest(_by_hand(await self._memory.get_context())),
            scratchpad=_digest(await self._memory.read_scratchpad()),
        )

    async def _of_context(self, before: _Known) -> str:
        values = _by_hand(await self._memory.get_context())
        if _digest(values) == before.context:
            return ""
        shown = msgspec.json.format(msgspec.json.encode(values), indent=1).decode()
        return _told("The user edited context.json by hand. It now holds:", shown)

    async def _of_scratchpad(self, before: _Known) -> str:
        text = await self._memory.read_scratchpad()
        if _digest(text) == before.scratchpad:
            return ""
        return _told("The user edited scratchpad.md by hand. It now reads:", text or "(nothing)")

    def _look(self) -> dict[str, Stamp | None]:
        return {name: _stamp(self._memory.folder / name) for name in _FILES}


def _of_conversation(known: _Known, now: list[Section], said: Collection[str]) -> str:
    before, lines = known.sections, []
    compared_from = min(before, default="")
    for one in now[-_SECTIONS_MAX:]:
        was = before.get(_name(one))
        if was is None:
            if one.content not in said and _name(one) >= compared_from:
                lines.append(f"- added, as {one.role}:\n{one.content}")
        elif was != _known(one):
            lines.append(f"- {one.role} said {was[1]!r} …; it now reads:\n{one.content}")
    present = {_name(one) for one in now}
    # Of a long file the newest part is read.
    oldest = min(present, default="") if len(now) >= _SECTIONS_MAX else ""
    gone = [was for name, was in before.items() if name not in present and name >= oldest]
    lines += [f"- removed: {was[1]!r} …" for was in gone]
    if not lines:
        return ""
    why = (
        "The user edited the record of this conversation (conversation.md) by hand. Where it "
        "differs from what you remember, go by this:"
    )
    return _told(why, "\n".join(lines))


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _name(section: Section) -> str:
    return f"{section.at} {section.role}"


def _known(section: Section) -> tuple[str, str]:
    return _digest(section.content), " ".join(section.content.split())[:_HEAD_CHARS]


def _by_hand(context: dict[str, Any]) -> dict[str, Any]:
    """Without what every turn writes there."""
    return {name: value for name, value in context.items() if name != LAST_ACTION}


def _digest(value: Any) -> str:
    data = value.encode("utf-8", "replace") if isinstance(value, str) else _json(value)
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _told(why: str, what: str) -> str:
    return f"{why}\n{both_ends(what, _TOLD_CHARS_MAX)}"
