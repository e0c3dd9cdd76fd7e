"""All conversations of other programs in folders under this machine's roots: listed and read.

Reads files and takes its time: not for the event loop. Nothing is written, and a conversation in
any other folder is as if it were not there.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from trunkline import limits
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign import claude_code, codex, opencode
from trunkline.execution.runtimes.foreign.bounded_files import Found
from trunkline.execution.runtimes.foreign.conversation import Conversation, Entry

LOOKED_AT_MAX = 500  # files for one page; the next page goes on from there


class _Files(Protocol):
    """A program that keeps each conversation in a file of its own."""

    def find(self, folder: Path, /) -> list[Found]: ...

    def id_of(self, found: Found, /) -> str: ...

    def summary(self, found: Found, /) -> Conversation | None: ...

    def history(self, found: Found, /) -> list[Entry]: ...


class _Candidate(NamedTuple):
    """Something that may be a conversation. Newest first, then by name: a list has one order."""

    order: tuple[int, str]
    load: Callable[[], Conversation | None]
    history: Callable[[], list[Entry]]


class Page(NamedTuple):
    conversations: list[Conversation]
    next_cursor: str | None


class Library:
    """`home` and `env` are the user's own: where the programs themselves look."""

    def __init__(self, home: Path, env: Mapping[str, str], roots: Roots) -> None:
        self._claude = claude_code.base(home, env)
        self._codex = codex.base(home, env)
        self._opencode = opencode.base(home, env)
        self._roots = roots

    def page(
        self,
        *,
        runtime: str = "",
        preset: str = "",
        folder: str = "",
        limit: int = limits.PAGE_DEFAULT,
        cursor: str = "",
    ) -> Page:
        """The newest first. `cursor`: where an earlier page ended. Raises ValueError for a cursor
        that is none."""
        after = _position(cursor)
        wanted = Path(folder).resolve() if folder else None
        found: list[Conversation] = []
        looked_at = 0
        for candidate in self._candidates(runtime, preset):
            if after is not None and candidate.order <= after:
                continue
            if len(found) >= limit or looked_at >= LOOKED_AT_MAX:
                return Page(found, _cursor(after))
            looked_at += 1
            after = candidate.order
            one = candidate.load()
            if one is not None and self._is_shown(one, wanted):
                found.append(_resolved(one))
        return Page(found, None)

    def read(
        self, runtime: str, preset: str, conversation_id: str
    ) -> tuple[Conversation, list[Entry]] | None:
        """One of those that `page` shows, with what was said and done in it."""
        for candidate in self._candidates(runtime, preset):
            if candidate.order[1].rpartition(" ")[2] == conversation_id:
                one = candidate.load()
                if one is not None and self._is_shown(one, None):
                    return _resolved(one), candidate.history()
        return None

    def _is_shown(self, one: Conversation, wanted: Path | None) -> bool:
        """Its folder is there, and below a root wherever its links lead."""
        try:
            folder = Path(one.folder).resolve()
            is_there = Path(one.folder).is_absolute() and folder.is_dir()
        except (OSError, ValueError, RuntimeError):
            return False
        if not is_there or (wanted is not None and folder != wanted):
            return False
        return self._roots.contains(folder)

    def _candidates(self, runtime: str, preset: str) -> Iterator[_Candidate]:
        lists: list[Iterable[_Candidate]] = []
        if runtime in ("", claude_code.RUNTIME) and not preset:
            lists.append(_of_files(claude_code.RUNTIME, claude_code, self._claude))
        if runtime in ("", codex.RUNTIME) and preset in ("", codex.PRESET):
            lists.append(_of_files(codex.PRESET, codex, self._codex))
        if runtime in ("", opencode.RUNTIME) and preset in ("", opencode.PRESET):
            lists.append(_of_rows(self._opencode))
        return heapq.merge(*lists, key=lambda one: one.order)


def _of_files(name: str, reader: _Files, folder: Path) -> list[_Candidate]:
    found = [
        _Candidate(
            (-one.changed_ms, f"{name} {reader.id_of(one)}"),
            partial(reader.summary, one),
            partial(reader.history, one),
        )
        for one in reader.find(folder)
    ]
    return sorted(found, key=lambda one: one.order)


def _of_rows(folder: Path) -> list[_Candidate]:
    found = [
        _Candidate(
            (-one.updated_at, f"{opencode.PRESET} {one.id}"),
            partial(_itself, one),
            partial(opencode.history, folder, one.id),
        )
        for one in opencode.conversations(folder)
    ]
    return sorted(found, key=lambda one: one.order)


def _resolved(one: Conversation) -> Conversation:
    """With its folder as a session has it that works there."""
    one.folder = str(Path(one.folder).resolve())
    return one


def _itself(one: Conversation) -> Conversation:
    return one


def _cursor(order: tuple[int, str] | None) -> str | None:
    return None if order is None else f"{-order[0]} {order[1]}"


def _position(cursor: str) -> tuple[int, str] | None:
    if not cursor:
        return None
    changed, _, name = cursor.partition(" ")
    if not changed.isdecimal() or len(changed) > 16 or not name:
        raise ValueError("not a cursor of this list")
    return -int(changed), name
