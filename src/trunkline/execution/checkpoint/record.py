"""A checkpoint on disk: one JSON file, and one of JSON lines for the writes that follow it.

`checkpoints/{id}.json` and `{id}.writes.jsonl` are the session's own conversation: the thread
named like the session's folder. Other threads, and the namespaces of subgraphs, have a digest of
their names after the id. Such a sequence of checkpoints is called a line here.

No LangGraph here: the daemon reads these files too. Values stay encoded (see `values`).
"""

import hashlib
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import CheckpointError
from trunkline.execution.files import read_head

CHECKPOINT_NAME_CHARS_MAX = 2_000  # a thread's or a namespace's name

FOLDER = "checkpoints"
OWN_LINE = ""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")
_NAME = re.compile(
    r"(?P<id>[A-Za-z0-9][A-Za-z0-9_-]{0,99})(?:\.(?P<line>[0-9a-f]{20}))?"
    r"(?P<kind>\.json|\.writes\.jsonl)\Z"
)
_log = structlog.get_logger(__name__)


class Kind(StrEnum):
    """The two files of a checkpoint, by how their names end."""

    RECORD = ".json"
    WRITES = ".writes.jsonl"


class Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A whole state: every file stands for itself."""

    format: Literal[1]
    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_checkpoint_id: str | None = None
    parents: dict[str, str] = {}
    """The checkpoints of the graphs around this one, by namespace."""
    metadata: msgspec.Raw
    checkpoint: msgspec.Raw
    channel_values: dict[str, msgspec.Raw]


class Write(msgspec.Struct):
    """What a task wrote into one channel. `idx` is negative for what may be written again."""

    idx: int
    channel: str
    value: msgspec.Raw


class Writes(msgspec.Struct):
    """What a task wrote at once: a line of the second file."""

    task_id: str
    task_path: str
    writes: list[Write]


class Name(NamedTuple):
    """What a file's name says."""

    checkpoint_id: str
    line: str
    kind: Kind


_encoder = msgspec.json.Encoder()
_records = msgspec.json.Decoder(Record)
_writes = msgspec.json.Decoder(Writes)


def line_of(session_dir: Path, thread_id: str, checkpoint_ns: str) -> str:
    """The line of a thread and namespace, whose names may be anything."""
    if (thread_id, checkpoint_ns) == (session_dir.name, ""):
        return OWN_LINE
    if max(len(thread_id), len(checkpoint_ns)) > CHECKPOINT_NAME_CHARS_MAX:
        raise CheckpointError("CHECKPOINT_NAME_INVALID", "a thread's name is too long")
    try:
        names = f"{thread_id}\0{checkpoint_ns}".encode()
    except UnicodeEncodeError as error:
        raise CheckpointError("CHECKPOINT_NAME_INVALID", "a thread's name is no text") from error
    return hashlib.blake2b(names, digest_size=10).hexdigest()


def path_of(folder: Path, line: str, checkpoint_id: str, kind: Kind) -> str:
    """Where a checkpoint's file is; as text, because it is used a few times (see `files`).

    Ids come from outside: one that is no plain name is refused.
    """
    if not _ID.match(checkpoint_id):
        raise CheckpointError(
            "CHECKPOINT_ID_INVALID", f"not a checkpoint's id: {checkpoint_id[:100]!r}"
        )
    return f"{folder}/{checkpoint_id}{'.' if line else ''}{line}{kind}"


def names_in(folder: Path) -> Iterator[Name]:
    """The files of this folder that are named like ours."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if match := _NAME.match(path.name):
            yield Name(match["id"], match["line"] or OWN_LINE, Kind(match["kind"]))


def encode(record: Record | Writes) -> bytes:
    """As it is on disk, without the line's end."""
    return _encoder.encode(record)


def writes_line(writes: Writes) -> bytes:
    """As it is appended. Begins with a line end, so that it survives a torn line before it."""
    return b"\n" + encode(writes)


def read_record(folder: Path, line: str, checkpoint_id: str) -> Record | None:
    """None, and a warning, for a file that is torn or is not what its name says."""
    path = path_of(folder, line, checkpoint_id, Kind.RECORD)
    data, whole = read_head(path, limits.CHECKPOINT_BYTES_MAX)
    try:
        record = _records.decode(data)
        if not whole:
            raise ValueError("too large")
        own = line_of(folder.parent, record.thread_id, record.checkpoint_ns)
        if (own, record.checkpoint_id) != (line, checkpoint_id):
            raise ValueError("its name is another checkpoint's")
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        _log.warning("checkpoint_skipped", file=path, problem=str(error))
        return None
    return record


def read_writes(folder: Path, line: str, checkpoint_id: str) -> list[Writes]:
    """In the order in which they came; a torn line is skipped with a warning."""
    path = path_of(folder, line, checkpoint_id, Kind.WRITES)
    data, _ = read_head(path, limits.CHECKPOINT_BYTES_MAX)
    found = []
    for text in data.split(b"\n"):
        if not text:
            continue
        try:
            found.append(_writes.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            _log.warning("checkpoint_writes_skipped", file=path, problem=str(error))
    return found
