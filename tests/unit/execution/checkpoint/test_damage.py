"""Torn, foreign and hostile: skipped with a warning, or refused in plain words."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.unit.execution.checkpoint.savers import (
    SESSION,
    done,
    ids,
    listed,
    names_in,
    opened,
    place,
    put,
)
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.errors import CheckpointError


def damaged(session_dir: Path, name: str, data: bytes) -> list[str]:
    """Puts the file there and opens the folder anew; gives the warnings."""
    (session_dir / "checkpoints" / name).write_bytes(data)
    with capture_logs() as logs:
        found = opened(LocalCheckpointer(session_dir))
    assert found.checkpoint["id"] == "b"
    assert all(log["log_level"] == "warning" for log in logs)
    return [log["event"] for log in logs]


@pytest.fixture(autouse=True)
def two_checkpoints(session_dir: Path) -> None:
    saver = LocalCheckpointer(session_dir)
    put(saver, "a", {"n": 1})
    put(saver, "b", {"n": 2}, parent="a")
    done(saver.aput_writes(place("b"), [("n", 3)], "task"))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.proves("004-3.3-atomic")
def test_a_torn_checkpoint_is_skipped_and_the_one_before_opens(
    session_dir: Path, share: float
) -> None:
    whole = (session_dir / "checkpoints/b.json").read_bytes().replace(b'"b"', b'"c"')
    assert damaged(session_dir, "c.json", whole[: int(len(whole) * share)]) == [
        "checkpoint_skipped"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"checkpoint": {}, "config": {}, "metadata": {}, "timestamp": 1.5}',
        '{"format": 2}',
        "[" * 100_000,
        "\x00" * 100,
    ],
)
def test_a_foreign_file_is_skipped_and_stays(session_dir: Path, text: str) -> None:
    assert damaged(session_dir, "c.json", text.encode()) == ["checkpoint_skipped"]
    assert (session_dir / "checkpoints/c.json").exists()


def test_a_checkpoint_under_another_ones_name_is_skipped(session_dir: Path) -> None:
    data = (session_dir / "checkpoints/a.json").read_bytes()
    assert damaged(session_dir, "c.json", data) == ["checkpoint_skipped"]
    assert damaged(session_dir, f"a.{'0' * 20}.json", data) == ["checkpoint_skipped"] * 2


@pytest.mark.parametrize(
    "name", ["notes.md", ".b.json.1-1.tmp", "..json", "a b.json", "sub.folder.json", "x.json.bak"]
)
def test_files_that_are_not_named_like_ours_are_not_looked_at(session_dir: Path, name: str) -> None:
    assert damaged(session_dir, name, b"{}") == []


def test_a_value_that_the_serializer_does_not_know_is_skipped(session_dir: Path) -> None:
    record = json.loads((session_dir / "checkpoints/b.json").read_text())
    record |= {"checkpoint_id": "c"}
    record["channel_values"] = {"n": {"type": "pickle", "base64": "gASVAAAA"}}
    assert damaged(session_dir, "c.json", json.dumps(record).encode()) == ["checkpoint_skipped"]


def test_a_file_that_vanishes_or_breaks_while_we_run_is_skipped(session_dir: Path) -> None:
    saver = LocalCheckpointer(session_dir)
    put(saver, "c")
    put(saver, "d")
    (session_dir / "checkpoints/c.json").unlink()
    (session_dir / "checkpoints/d.json").write_text("{")
    with capture_logs() as logs:
        assert ids(saver) == ["b", "a"]
        assert opened(saver).checkpoint["id"] == "b"
        assert done(saver.aget_tuple(place("d"))) is None
    assert [log["event"] for log in logs] == ["checkpoint_skipped"] * 2


def test_a_torn_line_of_writes_harms_no_other(session_dir: Path) -> None:
    file = session_dir / "checkpoints/b.writes.jsonl"
    file.write_bytes(file.read_bytes() + file.read_bytes()[:30])
    saver = LocalCheckpointer(session_dir)
    done(saver.aput_writes(place("b"), [("n", 4)], "task-2"))
    with capture_logs() as logs:
        assert opened(saver).pending_writes == [("task", "n", 3), ("task-2", "n", 4)]
    assert [log["event"] for log in logs] == ["checkpoint_writes_skipped"]


HOSTILE: list[Any] = [
    "../escape",
    "a/b",
    "..",
    ".",
    "",
    "a\0b",
    "a.json",
    ".hidden",
    "-rf",
    "x" * 101,
    "a\n",
    "é",
]


@pytest.mark.parametrize("checkpoint_id", HOSTILE)
def test_an_id_that_is_no_plain_name_is_refused(
    local: LocalCheckpointer, tmp_path: Path, checkpoint_id: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError) as caught:
        put(local, checkpoint_id)
    assert caught.value.code == "CHECKPOINT_ID_INVALID"
    where = place("x")
    where["configurable"]["checkpoint_id"] = checkpoint_id
    with pytest.raises(CheckpointError):
        done(local.aput_writes(where, [("n", 1)], "task"))
    if checkpoint_id:
        assert done(local.aget_tuple(where)) is None
        assert listed(local, where) == []
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../..", "a/b", "\0", "x" * 500, "", "日本", "a\u2028b"])
def test_names_of_threads_and_namespaces_may_be_anything_and_stay_inside(
    local: LocalCheckpointer, session_dir: Path, tmp_path: Path, name: str
) -> None:
    put(local, "a", {"n": 7}, thread=name, ns=name)
    saver = LocalCheckpointer(session_dir)
    assert opened(saver, place(thread=name, ns=name)).checkpoint["channel_values"] == {"n": 7}
    assert [path.name for path in tmp_path.iterdir()] == [SESSION]


@pytest.mark.parametrize("name", ["x" * 5_000, "\ud800"])
def test_names_that_cannot_be_kept_are_refused(local: LocalCheckpointer, name: str) -> None:
    for thread, ns in ((name, ""), (SESSION, name)):
        with pytest.raises(CheckpointError) as caught:
            put(local, "a", thread=thread, ns=ns)
        assert caught.value.code == "CHECKPOINT_NAME_INVALID"


def test_a_state_that_is_too_large_says_so_and_leaves_the_last_one(
    local: LocalCheckpointer, session_dir: Path
) -> None:
    local = LocalCheckpointer(session_dir, bytes_max=10_000)
    before = names_in(session_dir)
    with pytest.raises(CheckpointError, match="cannot be saved") as caught:
        put(local, "c", {"n": "x" * 10_000})
    assert caught.value.code == "CHECKPOINT_TOO_LARGE"
    for number in range(5):
        done(local.aput_writes(place("b"), [("n", "x" * 1_500)], f"task-{number}"))
    with pytest.raises(CheckpointError, match="cannot be saved"):
        done(local.aput_writes(place("b"), [("n", "x" * 2_000)], "task-6"))
    assert names_in(session_dir) == before
    assert opened(local).checkpoint["id"] == "b"
    assert len(opened(local).pending_writes or []) == 6


def test_a_value_that_cannot_be_serialized_changes_nothing(local: LocalCheckpointer) -> None:
    with pytest.raises(TypeError, match="serializable"):
        put(local, "c", {"n": object()})
    assert opened(local).checkpoint["id"] == "b"
