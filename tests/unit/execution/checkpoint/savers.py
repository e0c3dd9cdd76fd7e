"""Small checkpoints for tests, and how to put and find them."""

from collections.abc import AsyncIterator, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

SESSION = "session-1"
Saver = BaseCheckpointSaver[str]
T = TypeVar("T")


def done(work: Coroutine[Any, Any, T]) -> T:
    """What a saver's method gives. Those of files and of memory do not wait for anything."""
    try:
        work.send(None)
    except StopIteration as ended:
        return cast(T, ended.value)
    raise AssertionError("it waits")


def place(
    checkpoint_id: str | None = None, *, thread: str = SESSION, ns: str = ""
) -> RunnableConfig:
    """Where a checkpoint is: LangGraph's `configurable`."""
    where = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": where | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}


def checkpoint(checkpoint_id: str, values: dict[str, Any], version: int = 1) -> Checkpoint:
    return Checkpoint(
        v=4,
        id=checkpoint_id,
        ts=datetime(2026, 11, 1, tzinfo=UTC).isoformat(),
        channel_values=values,
        channel_versions=dict.fromkeys(values, f"{version:032}.0"),
        versions_seen={"node": {"start": f"{version:032}.0"}},
        updated_channels=sorted(values),
    )


def put(
    saver: Saver,
    checkpoint_id: str,
    values: dict[str, Any] | None = None,
    *,
    parent: str | None = None,
    thread: str = SESSION,
    ns: str = "",
    version: int = 1,
    **metadata: Any,
) -> RunnableConfig:
    made = checkpoint(checkpoint_id, values or {}, version)
    described = cast(CheckpointMetadata, {"source": "loop", "step": 0, "parents": {}} | metadata)
    where = place(parent, thread=thread, ns=ns)
    return done(saver.aput(where, made, described, made["channel_versions"]))


def opened(saver: Saver, config: RunnableConfig | None = None) -> CheckpointTuple:
    """The checkpoint of that place, which must be there."""
    found = done(saver.aget_tuple(config or place()))
    assert found is not None
    return found


def listed(saver: Saver, config: RunnableConfig | None, **options: Any) -> list[CheckpointTuple]:
    async def all_of(found: AsyncIterator[CheckpointTuple]) -> list[CheckpointTuple]:
        return [one async for one in found]

    return done(all_of(saver.alist(config, **options)))


def ids(saver: Saver, config: RunnableConfig | None = None, **options: Any) -> list[str]:
    found = listed(saver, config or place(), **options)
    return [one.config["configurable"]["checkpoint_id"] for one in found]


def numbered(count: int) -> Sequence[str]:
    return [f"id-{number:03}" for number in range(count)]


def names_in(session_dir: Path) -> list[str]:
    return sorted(path.name for path in (session_dir / "checkpoints").iterdir())
