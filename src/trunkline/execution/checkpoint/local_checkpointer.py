"""LangGraph's checkpoints on local JSON files.

For the graph of one session, which runs in an event loop: the synchronous methods of savers are not
here. The work is done at once: a session has a process of its own, and a file in the page cache
takes less time than a hop to a thread.
"""

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from trunkline import limits
from trunkline.execution.checkpoint.record import Record, Write, Writes
from trunkline.execution.checkpoint.reserve import Reserve
from trunkline.execution.checkpoint.shelf import Line, Shelf
from trunkline.execution.checkpoint.values import decode, encode

_log = structlog.get_logger(__name__)

Known = dict[str, tuple[Any, msgspec.Raw]]


class LocalCheckpointer(BaseCheckpointSaver[str]):
    """The checkpoints of one session's threads; the newest `keep` of each namespace stay."""

    def __init__(
        self,
        session_dir: Path,
        keep: int = limits.CHECKPOINTS_KEPT,
        *,
        bytes_max: int = limits.CHECKPOINT_BYTES_MAX,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._shelf = Shelf(session_dir, keep, bytes_max)
        # Encoded values of the checkpoint written last: most channels do not change in a step.
        self._known: dict[str, Known] = {}

    @property
    def reserve(self) -> Reserve:
        """The room that is held for what is saved here."""
        return self._shelf.reserve

    @property
    def is_damaged(self) -> bool:
        """Whether something was here that cannot be read any more, as far as is not mended."""
        return self._shelf.damaged

    @is_damaged.setter
    def is_damaged(self, is_damaged: bool) -> None:
        self._shelf.damaged = is_damaged

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        line = self._line(config)
        if checkpoint_id := get_checkpoint_id(config):
            found = self._open(line, checkpoint_id)
            return found and found._replace(config=config)
        opened = (self._open(line, one) for one in line.newest_first())
        return next((found for found in opened if found), None)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        wanted = config["configurable"] if config else {}
        only = wanted.get("checkpoint_id")
        until = get_checkpoint_id(before) if before else None
        thread_id = str(wanted["thread_id"]) if config else None
        places = [
            (one, line)
            for line in self._shelf.lines(thread_id, wanted.get("checkpoint_ns"))
            for one in line.entries
            if one == (only or one) and not (until and one >= until)
        ]
        left = len(places) if limit is None else limit
        for one, line in sorted(places, key=lambda place: place[0], reverse=True):
            if left <= 0:
                return
            found = self._open(line, one)
            if found and _matches(found.metadata, filter):
                left -= 1
                yield found

    def _open(self, line: Line, checkpoint_id: str) -> CheckpointTuple | None:
        record = self._shelf.read(line, checkpoint_id)
        if record is None:
            return None
        parent = record.parent_checkpoint_id or None
        try:
            values = {k: decode(self.serde, v) for k, v in record.channel_values.items()}
            return CheckpointTuple(
                config=_config(line, checkpoint_id),
                checkpoint=decode(self.serde, record.checkpoint) | {"channel_values": values},
                metadata=decode(self.serde, record.metadata),
                parent_config=parent and _config(line, parent),
                pending_writes=_pending(self.serde, self._shelf.read_writes(line, checkpoint_id)),
            )
        except Exception as error:  # whatever a serializer raises for bytes that it does not know
            _log.warning("checkpoint_skipped", checkpoint_id=checkpoint_id, problem=repr(error))
            self._shelf.damaged = True
            return None

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        described = get_checkpoint_metadata(config, metadata)
        line = self._line(config)
        self._shelf.put(
            Record(
                format=1,
                thread_id=line.thread_id,
                checkpoint_ns=line.checkpoint_ns,
                checkpoint_id=checkpoint["id"],
                parent_checkpoint_id=get_checkpoint_id(config),
                parents=described.get("parents") or {},
                metadata=encode(self.serde, described),
                checkpoint=encode(
                    self.serde, {k: v for k, v in checkpoint.items() if k != "channel_values"}
                ),
                channel_values=self._encoded(line, checkpoint, new_versions),
            )
        )
        return _config(line, checkpoint["id"])

    def _encoded(
        self, line: Line, checkpoint: Checkpoint, new_versions: ChannelVersions
    ) -> dict[str, msgspec.Raw]:
        known = self._known.get(line.key, {})
        encoded: Known = {}
        for channel, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(channel)
            before, text = known.get(channel, (None, None))
            if text is None or version is None or version != before or channel in new_versions:
                text = encode(self.serde, value)
            encoded[channel] = (version, text)
        self._known.clear()  # of the line written last, no more
        self._known[line.key] = encoded
        return {channel: text for channel, (_, text) in encoded.items()}

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        if not writes:
            return
        numbered = [
            Write(WRITES_IDX_MAP.get(channel, idx), channel, encode(self.serde, value))
            for idx, (channel, value) in enumerate(writes)
        ]
        self._shelf.add_writes(
            self._line(config),
            str(config["configurable"]["checkpoint_id"]),
            Writes(task_id, task_path, numbered),
        )

    async def adelete_thread(self, thread_id: str) -> None:
        self._known.clear()
        for line in self._shelf.lines(str(thread_id)):
            self._shelf.drop_line(line)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Grows, and differs between two branches that start at the same checkpoint."""
        number = int(str(current).split(".", maxsplit=1)[0]) if current is not None else 0
        return f"{number + 1:032}.{random.random():016}"

    def _line(self, config: RunnableConfig) -> Line:
        where = config["configurable"]
        return self._shelf.line(str(where["thread_id"]), where.get("checkpoint_ns", ""))


def _config(line: Line, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": line.thread_id,
            "checkpoint_ns": line.checkpoint_ns,
            "checkpoint_id": checkpoint_id,
        }
    }


def _matches(metadata: CheckpointMetadata, wanted: dict[str, Any] | None) -> bool:
    return all(metadata.get(key) == value for key, value in (wanted or {}).items())


def _pending(serde: SerializerProtocol, batches: Sequence[Writes]) -> list[PendingWrite]:
    kept: dict[tuple[str, int], tuple[str, Write]] = {}
    for batch in batches:
        for write in batch.writes:
            key = (batch.task_id, write.idx)
            # A task that runs again does not write twice; questions and errors are replaced.
            if write.idx < 0 or key not in kept:
                kept[key] = (batch.task_path, write)
    ordered = sorted(kept.items(), key=lambda item: writes_sort_key(item[1][0], *item[0]))
    return [
        (task_id, write.channel, decode(serde, write.value)) for (task_id, _), (_, write) in ordered
    ]
