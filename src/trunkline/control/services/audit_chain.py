"""How the audit log's chain is made and checked: a pure walk over entries, no storage.

Every entry carries the hash of the one before it. A log that could not go on (`audit.py`) begins a
new chain, openly: its first entry is RESTARTED and carries the hash of all entries before it, as
they were found. So what was wrong by then stays told, and nobody changes it later unseen.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Row

from trunkline import limits
from trunkline.control.errors import InvalidRequest, TooLarge
from trunkline.control.services.audit_heads import Head

GENESIS = "0" * 64
RESTARTED = "audit.restarted"


class BrokenLink(msgspec.Struct, frozen=True):
    """Where the chain breaks first, and how."""

    seq: int
    reason: str


class EarlierChain(msgspec.Struct, frozen=True):
    """One that ended, and after which a new one was begun. `reason`: why that was done, as the
    server found it then. `broken`: where it breaks first, apart from its lost end."""

    first: int
    last: int
    reason: str
    broken: BrokenLink | None


class Verification(msgspec.Struct, frozen=True):
    """`ok`: the newest chain is whole, and what was before it is as it was found when that began.
    `head` is the newest hash: noted down elsewhere, it shows a restored old database too."""

    ok: bool
    entries: int
    first_broken: BrokenLink | None
    head: str
    earlier: list[EarlierChain]


class _Restart(msgspec.Struct):
    found: str


class Walk:
    """Takes the entries in their order. `noted`: hashes that were noted outside of the database,
    by the numbers of their entries; `told`: those that whoever asks has noted."""

    def __init__(self, noted: Mapping[int, str], told: Mapping[int, str]) -> None:
        self._noted = noted
        self._told = told
        self._digest = hashlib.sha256()
        self._of_chain = hashlib.sha256()
        """Of the newest chain alone: what earlier versions began a new one with."""
        self._first = 1
        self._changed: BrokenLink | None = None
        """What was done to an earlier chain after its end, and no new one was begun behind."""
        self._contradiction: BrokenLink | None = None
        """What does not fit to what was told."""
        self.entries = 0
        self.last = Head(0, GENESIS)
        self.broken: BrokenLink | None = None
        """Where the newest chain breaks first."""
        self.earlier: list[EarlierChain] = []

    @property
    def digest(self) -> str:
        """Of all entries so far, whole or not."""
        return self._digest.hexdigest()

    def take(self, entry: Row[Any]) -> None:
        computed = hash_of(entry._asdict())
        if entry.event == RESTARTED and entry.source == "control":
            self._restart(entry, computed)
        elif self.broken is None and (reason := _problem(self.last, entry, computed)):
            self.broken = BrokenLink(self.last.seq + 1, reason)
        self._compare(entry)
        hashes = f"{entry.hash}{computed}".encode()
        self._digest.update(hashes)
        self._of_chain.update(hashes)
        self.entries += self.broken is None
        self.last = Head(entry.seq, entry.hash)

    def _restart(self, entry: Row[Any], computed: str) -> None:
        missing = [seq for seq in self._noted if self.last.seq < seq < entry.seq]
        if self.broken is None and missing:
            self.broken = _cut_off(self.last.seq, max(missing))
        if any(self.last.seq < seq < entry.seq for seq in self._told):
            self._contradict(_cut_off(self.last.seq, entry.seq - 1))
        if entry.hash == computed and entry.prev_hash == self.digest:
            self._changed = None  # it was found like this, and that is told with the chain
        elif entry.hash != computed or entry.prev_hash != self._of_chain.hexdigest():
            reason = f"entries {self._first} to {entry.seq} were changed after {entry.seq} was made"
            self.broken = self.broken or BrokenLink(self._first, reason)
            self._changed = self._changed or BrokenLink(self._first, reason)
        earlier = EarlierChain(self._first, self.last.seq, _found(entry.details), self.broken)
        self.earlier.append(earlier)
        self._first, self.broken, self._of_chain = entry.seq, None, hashlib.sha256()

    def _contradict(self, link: BrokenLink) -> None:
        self._contradiction = self._contradiction or link

    def _compare(self, entry: Row[Any]) -> None:
        reason = f"entry {entry.seq} is not the one that was noted as the head"
        if self.broken is None and self._noted.get(entry.seq, entry.hash) != entry.hash:
            self.broken = BrokenLink(entry.seq, reason)
        if self._told.get(entry.seq, entry.hash) != entry.hash:
            self._contradict(BrokenLink(entry.seq, reason))

    def end(self, head: Head | None) -> Verification:
        """`head`: the sealed one, None when it is not ours."""
        newest = max((*self._noted, *self._told), default=0)
        broken = (
            self._contradiction or self._changed or self.broken or _end_problem(self.last, head)
        )
        if broken is None and newest > self.last.seq:
            broken = _cut_off(self.last.seq, newest)
        return Verification(broken is None, self.entries, broken, self.last.hash, self.earlier)


def _found(details: str) -> str:
    try:
        return msgspec.json.decode(details, type=_Restart).found
    except msgspec.MsgspecError:  # then it is none of ours, and its hash says so
        return ""


def _cut_off(last: int, noted: int) -> BrokenLink:
    reason = f"entries {last + 1} to {noted} are missing: one was noted as the head"
    return BrokenLink(last + 1, reason)


def _end_problem(last: Head, head: Head | None) -> BrokenLink | None:
    if head == last:
        return None
    if head is None:
        return BrokenLink(last.seq + 1, "the head is missing or sealed by another key")
    if head.seq > last.seq:
        return BrokenLink(last.seq + 1, f"entries {last.seq + 1} to {head.seq} are missing")
    if head.seq < last.seq:
        return BrokenLink(head.seq + 1, f"entry {head.seq + 1} was added past the head")
    return BrokenLink(last.seq, "the chain was computed anew")


def _problem(last: Head, entry: Row[Any], computed: str) -> str | None:
    if entry.seq != last.seq + 1:
        return f"entry {last.seq + 1} is missing; the next one is {entry.seq}"
    if entry.prev_hash != last.hash:
        return f"entry {entry.seq} does not follow the entry before it"
    if entry.hash != computed:
        return f"entry {entry.seq} was changed"
    return None


_HASHED = ("seq", "at", "org_id", "user_id", "session_id", "event", "details")


def hash_of(entry: dict[str, Any]) -> str:
    # Entries from before there were sources have none, and none in their hash.
    names = _HASHED if entry["source"] is None else (*_HASHED, "source")
    fields = canonical({name: entry[name] for name in names}, "entry", limits.FRAME_BYTES_MAX)
    return hashlib.sha256((entry["prev_hash"] + fields).encode()).hexdigest()


def canonical(value: Any, field: str, bytes_max: int) -> str:
    """The one JSON text of a value: sorted keys, no spaces. Bounded."""
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        size = len(text.encode())  # also refuses half of a surrogate pair
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field} is not plain JSON: {error}") from error
    if size > bytes_max:
        raise TooLarge(f"{field} has {size} bytes; at most {bytes_max} are allowed")
    return text
