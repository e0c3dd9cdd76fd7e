"""The newest checkpoint as a document: off one machine, onto another."""

import operator
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from structlog.testing import capture_logs

from tests.unit.execution.checkpoint.savers import SESSION, done, ids, names_in, opened, place, put
from trunkline import limits
from trunkline.execution.checkpoint.files import CHECKPOINT_SNAPSHOT_BYTES_MAX, latest, restore
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.errors import CheckpointError


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path / "another-machine" / SESSION


def sent(document: dict[str, Any] | None) -> dict[str, Any]:
    """As it arrives: through JSON."""
    assert document is not None
    received: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return received


def test_a_session_without_checkpoints_has_no_document(session_dir: Path) -> None:
    assert latest(session_dir) is None
    LocalCheckpointer(session_dir)
    assert latest(session_dir) is None


@pytest.mark.proves("004-3.3-snapshot", "004-3.3-restored-from-a-snapshot")
def test_the_newest_checkpoint_moves_with_its_writes(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path
) -> None:
    for number, one in enumerate("abc"):
        put(local, one, {"n": number, "packed": {number}})
        done(local.aput_writes(place(one), [("n", number + 1), ("x", b"\x00")], "task", "~path"))
    put(local, "d", thread="somebody else's")
    document = sent(latest(session_dir))
    assert document["checkpoint_id"] == "c"
    assert document["channel_values"]["n"] == {"plain": 2}
    assert restore(elsewhere, document)
    there = LocalCheckpointer(elsewhere)
    assert opened(there) == opened(local)
    assert ids(there) == ["c"]
    assert latest(elsewhere) == document


def test_what_this_machine_knows_better_is_not_overwritten(
    local: LocalCheckpointer, session_dir: Path
) -> None:
    put(local, "a", {"n": 1})
    document = sent(latest(session_dir))
    assert not restore(session_dir, document)
    put(local, "b", {"n": 2})
    assert not restore(session_dir, document)
    assert ids(LocalCheckpointer(session_dir)) == ["b", "a"]


def test_a_session_that_comes_back_goes_on_from_what_was_done_elsewhere(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path
) -> None:
    put(local, "a", {"n": 1})
    restore(elsewhere, sent(latest(session_dir)))
    put(LocalCheckpointer(elsewhere), "b", {"n": 2}, parent="a")
    assert restore(session_dir, sent(latest(elsewhere)))
    back = LocalCheckpointer(session_dir)
    assert ids(back) == ["b", "a"]
    assert opened(back).checkpoint["channel_values"] == {"n": 2}


def test_the_newest_that_is_readable_is_sent(local: LocalCheckpointer, session_dir: Path) -> None:
    put(local, "a", {"n": 1})
    (session_dir / "checkpoints/b.json").write_text("{")
    with capture_logs() as logs:
        assert sent(latest(session_dir))["checkpoint_id"] == "a"
    assert [log["event"] for log in logs] == ["checkpoint_skipped"]


def test_a_state_that_no_frame_can_carry_is_not_sent(
    local: LocalCheckpointer, session_dir: Path
) -> None:
    put(local, "a", {"n": "x" * CHECKPOINT_SNAPSHOT_BYTES_MAX})
    with capture_logs() as logs:
        assert latest(session_dir) is None
    assert [log["event"] for log in logs] == ["checkpoint_too_large_for_a_snapshot"]


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]


def nested_graph(session_dir: Path) -> Any:
    inner = StateGraph(State)
    inner.add_node("first", lambda state: {"said": ["first"]})
    inner.add_node("ask", lambda state: {"said": [interrupt("May I?")]})
    inner.add_edge(START, "first")
    inner.add_edge("first", "ask")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    return outer.compile(checkpointer=LocalCheckpointer(session_dir))


async def test_a_question_of_a_subgraph_is_answered_on_another_machine(
    session_dir: Path, elsewhere: Path
) -> None:
    config = {"configurable": {"thread_id": SESSION}}
    await nested_graph(session_dir).ainvoke({"said": ["hi"]}, config)
    document = sent(latest(session_dir))
    assert len(document["companions"]) == 1
    restore(elsewhere, document)
    result = await nested_graph(elsewhere).ainvoke(Command(resume="yes"), config)
    assert result["said"][-2:] == ["first", "yes"]


def changed(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return document | fields


@pytest.mark.parametrize(
    "fields",
    [
        {"checkpoint_id": "../../escape"},
        {"checkpoint_id": "a/b"},
        {"checkpoint_id": 17},
        {"format": 99},
        {"thread_id": "x" * 5_000, "checkpoint_id": "z"},
        {"channel_values": ["a"]},
        {"writes": [{"task_id": "t"}]},
        {"companions": [{"checkpoint_id": "../escape"}]},
        {"metadata": 1, "thread_id": None},
    ],
)
def test_a_document_that_is_not_ours_is_refused_and_writes_nothing(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path, fields: dict[str, Any]
) -> None:
    put(local, "a", {"n": 1})
    with pytest.raises(CheckpointError):
        restore(elsewhere, changed(sent(latest(session_dir)), **fields))
    assert not elsewhere.exists()


def test_a_companion_with_a_hostile_name_is_refused_before_anything_is_written(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path
) -> None:
    put(local, "a", {"n": 1})
    document = sent(latest(session_dir))
    bad = changed(document, checkpoint_id="../../escape")
    with pytest.raises(CheckpointError):
        restore(elsewhere, changed(document, companions=[document, bad]))
    assert not elsewhere.exists()


def test_a_document_that_is_too_large_is_refused(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path
) -> None:
    put(local, "a", {"n": 1})
    huge = changed(sent(latest(session_dir)), channel_values={"n": "x" * limits.SNAPSHOT_BYTES_MAX})
    with pytest.raises(CheckpointError) as caught:
        restore(elsewhere, huge)
    assert caught.value.code == "CHECKPOINT_TOO_LARGE"


def test_a_document_of_values_that_nobody_can_open_is_skipped_when_it_is_opened(
    local: LocalCheckpointer, session_dir: Path, elsewhere: Path
) -> None:
    put(local, "a", {"n": 1})
    restore(elsewhere, changed(sent(latest(session_dir)), metadata=17))
    with capture_logs() as logs:
        assert done(LocalCheckpointer(elsewhere).aget_tuple(place())) is None
    assert [log["event"] for log in logs] == ["checkpoint_skipped"]
    assert names_in(elsewhere) == ["a.json", "a.writes.jsonl"]


def test_the_daemon_reads_and_restores_without_langgraph() -> None:
    program = (
        "import sys; import trunkline.execution.checkpoint.files;"
        "import trunkline.execution.memory.local_memory;"
        "sys.exit(any(name.startswith(('langgraph', 'langchain')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
