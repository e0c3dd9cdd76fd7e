"""A session's newest checkpoint as one document, out of a machine and into another.

For the daemon, which puts it into `snapshot_sync` and takes it from `start_session`: no LangGraph
here, and no value is opened.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.checkpoint.record import (
    FOLDER,
    OWN_LINE,
    Kind,
    Record,
    Writes,
    encode,
    line_of,
    names_in,
    path_of,
    read_record,
    read_writes,
    writes_line,
)
from trunkline.execution.errors import CheckpointError
from trunkline.execution.files import write_atomic

_log = structlog.get_logger(__name__)

CHECKPOINT_SNAPSHOT_BYTES_MAX = 4 * limits.MIB  # with the memory's parts below SNAPSHOT_BYTES_MAX


class Document(Record, kw_only=True, omit_defaults=True):
    """A checkpoint, what was written after it, and those of the subgraphs that it waits for."""

    writes: list[Writes] = msgspec.field(default_factory=list)
    companions: list["Document"] = msgspec.field(default_factory=list)


_documents = msgspec.json.Decoder(Document)


def latest(session_dir: Path) -> dict[str, Any] | None:
    """The newest readable checkpoint of the session's own thread, for a snapshot."""
    folder = session_dir / FOLDER
    record = _newest(folder, OWN_LINE)
    if record is None:
        return None
    document = _document(folder, OWN_LINE, record)
    document.companions = list(_inside(folder, record))
    data = encode(document)
    if len(data) > CHECKPOINT_SNAPSHOT_BYTES_MAX:
        _log.warning("checkpoint_too_large_for_a_snapshot", folder=str(folder), size=len(data))
        return None
    return msgspec.json.decode(data, type=dict[str, Any])


def copy(source_dir: Path, target_dir: Path) -> bool:
    """The newest readable checkpoint of a session as another's first; False where there is none, or
    the other has one already. What was written behind it is left out: it is of an open turn."""
    record = _newest(source_dir / FOLDER, OWN_LINE)
    folder = target_dir / FOLDER
    if record is None or _newest(folder, OWN_LINE) is not None:
        return False
    copied = msgspec.structs.replace(
        record, thread_id=target_dir.name, parent_checkpoint_id=None, parents={}
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path_of(folder, OWN_LINE, record.checkpoint_id, Kind.RECORD), encode(copied))
    return True


def restore(session_dir: Path, document: Mapping[str, Any]) -> bool:
    """Writes a document's checkpoints; False when this machine already has newer ones.

    Before the session's process starts: it lists the folder once.
    """
    data = msgspec.json.encode(document)
    if len(data) > limits.SNAPSHOT_BYTES_MAX:
        raise CheckpointError("CHECKPOINT_TOO_LARGE", "a snapshot's checkpoint is too large")
    try:
        parsed = _documents.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CheckpointError(
            "SNAPSHOT_INVALID", f"not a snapshot's checkpoint: {error}"
        ) from error
    folder = session_dir / FOLDER
    line = line_of(session_dir, parsed.thread_id, parsed.checkpoint_ns)
    here = _newest(folder, line)
    if here and here.checkpoint_id >= parsed.checkpoint_id:
        return False
    # All names are looked at before anything is written; the newest comes last, when what it
    # leans on is there.
    files = [file for one in (*parsed.companions, parsed) for file in _files(session_dir, one)]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, content in files:
        write_atomic(path, content)
    return True


def _files(session_dir: Path, document: Document) -> Iterator[tuple[str, bytes]]:
    folder = session_dir / FOLDER
    line = line_of(session_dir, document.thread_id, document.checkpoint_ns)
    content = b"".join(map(writes_line, document.writes))
    yield path_of(folder, line, document.checkpoint_id, Kind.WRITES), content
    fields = {name: getattr(document, name) for name in Record.__struct_fields__}
    yield path_of(folder, line, document.checkpoint_id, Kind.RECORD), encode(Record(**fields))


def _newest(folder: Path, line: str) -> Record | None:
    ids = [name[0] for name in names_in(folder) if name[1:] == (line, Kind.RECORD)]
    records = (read_record(folder, line, one) for one in sorted(ids, reverse=True))
    return next((record for record in records if record), None)


def _document(folder: Path, line: str, record: Record) -> Document:
    fields = {name: getattr(record, name) for name in Record.__struct_fields__}
    return Document(**fields, writes=read_writes(folder, line, record.checkpoint_id))


def _inside(folder: Path, outer: Record) -> Iterator[Document]:
    """Where subgraphs are that run in the step after this checkpoint."""
    for line in sorted({name.line for name in names_in(folder)} - {OWN_LINE}):
        record = _newest(folder, line)
        if record is None or record.thread_id != outer.thread_id:
            continue
        if record.parents.get(outer.checkpoint_ns) == outer.checkpoint_id:
            yield _document(folder, line, record)
