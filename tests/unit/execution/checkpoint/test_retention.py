"""What is kept and what goes: ten of each line, and whatever those cannot do without."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from langgraph.checkpoint.serde.types import INTERRUPT as LANGGRAPHS_INTERRUPT

from tests.unit.execution.checkpoint.savers import (
    SESSION,
    done,
    ids,
    listed,
    names_in,
    numbered,
    opened,
    place,
    put,
)
from trunkline import limits
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.checkpoint.shelf import CHECKPOINT_NAMESPACES_MAX, INTERRUPT


def put_chain(saver: LocalCheckpointer, count: int, **options: Any) -> list[str]:
    parent = None
    for one in numbered(count):
        put(saver, one, {"n": one}, parent=parent, **options)
        where = {key: options[key] for key in ("thread", "ns") if key in options}
        done(saver.aput_writes(place(one, **where), [("n", one)], "task"))
        parent = one
    return list(numbered(count))


@pytest.mark.proves("004-3.3-ten-kept", "004-3.3-files")
def test_the_newest_ten_stay_with_their_writes(local: LocalCheckpointer, session_dir: Path) -> None:
    made = put_chain(local, 25)
    assert ids(local) == made[:-11:-1]
    kept = [f"{one}{end}" for one in made[-10:] for end in (".json", ".writes.jsonl")]
    assert names_in(session_dir) == kept
    assert ids(LocalCheckpointer(session_dir)) == made[:-11:-1]


def test_the_place_of_the_oldest_is_taken_by_the_newest(
    local: LocalCheckpointer, session_dir: Path
) -> None:
    put_chain(local, 10)
    folder = session_dir / "checkpoints"
    before = {path.stat().st_ino for path in folder.iterdir()}
    for number in range(10, 30):
        # Shorter than what was there: nothing of the old file may be left behind it.
        put(local, f"id-{number:03}", {"n": number})
        done(local.aput_writes(place(f"id-{number:03}"), [("n", number)], "t"))
    assert {path.stat().st_ino for path in folder.iterdir()} == before
    again = LocalCheckpointer(session_dir)
    for number in range(20, 30):
        found = opened(again, place(f"id-{number:03}"))
        assert found.checkpoint["channel_values"] == {"n": number}
        assert found.pending_writes == [("t", "n", number)]


def test_names_of_files_that_come_and_go_are_not_put_into_pythons_table_of_names(
    local: LocalCheckpointer,
) -> None:
    # Sessions share that table until they write to it: a copy takes megabytes.
    interned = 0

    def note(_frame: FrameType, event: str, argument: object) -> None:
        nonlocal interned
        interned += event == "c_call" and argument is sys.intern

    sys.setprofile(note)
    try:
        put_chain(local, 15)
        opened(local)
        done(local.adelete_thread(SESSION))
    finally:
        sys.setprofile(None)
    assert interned == 0


def test_a_checkpoint_is_there_after_it_was_put_even_with_an_old_id(
    local: LocalCheckpointer,
) -> None:
    put_chain(local, 10)
    put(local, "early", {"n": 1})
    assert opened(local, place("early")).checkpoint["channel_values"] == {"n": 1}
    assert len(ids(local)) == 11


def test_writes_to_a_checkpoint_that_is_gone_harm_no_other(local: LocalCheckpointer) -> None:
    put_chain(local, 10)
    put(local, "id-010")
    done(local.aput_writes(place("id-000"), [("n", "late")], "task"))
    done(local.aput_writes(place("id-010"), [("n", "new")], "task"))
    assert opened(local).pending_writes == [("task", "n", "new")]
    assert done(local.aget_tuple(place("id-000"))) is None


def test_of_a_deleted_thread_nothing_is_left_on_disk(
    local: LocalCheckpointer, session_dir: Path
) -> None:
    put_chain(local, 12)
    put(local, "id-012")
    done(local.adelete_thread(SESSION))
    assert names_in(session_dir) == []


def test_each_namespace_and_thread_has_its_own_ten(local: LocalCheckpointer) -> None:
    made = put_chain(local, 12)
    put_chain(local, 12, ns="inner:1")
    put_chain(local, 12, thread="other")
    for where in (place(), place(ns="inner:1"), place(thread="other")):
        assert ids(local, where) == made[:-11:-1]


def test_what_was_kept_before_a_restart_counts(session_dir: Path) -> None:
    put_chain(LocalCheckpointer(session_dir), 8)
    saver = LocalCheckpointer(session_dir, keep=3)
    put(saver, "later")
    assert ids(saver) == ["later", "id-007", "id-006"]


def test_the_name_of_a_question_is_langgraphs() -> None:
    assert INTERRUPT == LANGGRAPHS_INTERRUPT


@pytest.mark.parametrize("restarted", [False, True])
def test_a_checkpoint_that_waits_for_a_person_stays(session_dir: Path, restarted: bool) -> None:
    saver = LocalCheckpointer(session_dir, keep=3)
    put(saver, "asked")
    done(saver.aput_writes(place("asked"), [(INTERRUPT, "May I?")], "task"))
    put(saver, "answered")
    done(saver.aput_writes(place("answered"), [(INTERRUPT, "May I?")], "task"))
    if restarted:
        saver = LocalCheckpointer(session_dir, keep=3)
    put(saver, "b-after", parent="answered")
    put_chain(saver, 5)
    assert "asked" in ids(saver)
    assert opened(saver, place("asked")).pending_writes == [("task", INTERRUPT, "May I?")]
    assert "answered" not in ids(saver)


def test_no_more_than_ten_that_wait_stay(local: LocalCheckpointer) -> None:
    for one in numbered(40):
        put(local, one)
        done(local.aput_writes(place(one), [(INTERRUPT, "?")], "task"))
    assert len(ids(local)) <= limits.CHECKPOINTS_KEPT + 1
    for one in numbered(15):
        put(local, f"later-{one}")
    assert len(ids(local)) == 2 * limits.CHECKPOINTS_KEPT


def test_the_oldest_namespaces_of_a_thread_go(local: LocalCheckpointer, session_dir: Path) -> None:
    put(local, "a")
    put(local, "a", ns="kept:0", thread="other")
    count = CHECKPOINT_NAMESPACES_MAX + 7
    for number in range(count):
        put(local, f"b-{number:03}", ns=f"inner:{number}")
        done(local.aput_writes(place(f"b-{number:03}", ns=f"inner:{number}"), [("x", 1)], "task"))
    found = namespaces(local)
    assert found == {"", *(f"inner:{number}" for number in range(7, count))}
    assert opened(local, place(ns="kept:0", thread="other"))
    assert len(names_in(session_dir)) == 2 + 2 * CHECKPOINT_NAMESPACES_MAX


def test_a_namespace_that_waits_for_a_person_stays(local: LocalCheckpointer) -> None:
    put(local, "a", ns="asked")
    done(local.aput_writes(place("a", ns="asked"), [(INTERRUPT, "May I?")], "task"))
    put(local, "a", ns="answered")
    done(local.aput_writes(place("a", ns="answered"), [(INTERRUPT, "May I?")], "task"))
    put(local, "b", ns="answered", parent="a")
    for number in range(CHECKPOINT_NAMESPACES_MAX + 1):
        put(local, f"c-{number:03}", ns=f"inner:{number}")
    assert opened(local, place("a", ns="asked")).pending_writes == [("task", INTERRUPT, "May I?")]
    assert ids(local, place(ns="answered")) == []


def test_namespaces_whose_questions_nobody_waits_for_any_more_have_a_bound(
    local: LocalCheckpointer,
) -> None:
    most = CHECKPOINT_NAMESPACES_MAX
    for number in range(3 * most):
        put(local, f"b-{number:03}", ns=f"inner:{number}")
        where = place(f"b-{number:03}", ns=f"inner:{number}")
        done(local.aput_writes(where, [(INTERRUPT, "?")], "task"))
    found = namespaces(local)
    assert found == {f"inner:{number}" for number in range(most, 3 * most)}


def namespaces(saver: LocalCheckpointer) -> set[str]:
    found = listed(saver, {"configurable": {"thread_id": SESSION}})
    return {one.config["configurable"]["checkpoint_ns"] for one in found}


def test_writes_whose_checkpoint_never_came_go_with_the_old_ones(session_dir: Path) -> None:
    saver = LocalCheckpointer(session_dir, keep=2)
    done(saver.aput_writes(place("id-000x"), [("n", 1)], "task"))
    done(saver.aput_writes(place("later"), [("n", 1)], "task"))
    put_chain(saver, 4)
    assert not (session_dir / "checkpoints/id-000x.writes.jsonl").exists()
    assert (session_dir / "checkpoints/later.writes.jsonl").exists()
    LocalCheckpointer(session_dir)
    assert not (session_dir / "checkpoints/later.writes.jsonl").exists()
