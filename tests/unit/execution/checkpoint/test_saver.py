"""What LangGraph asks of a saver; each test also holds for LangGraph's own."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED

from tests.unit.execution.checkpoint.savers import Saver, done, ids, listed, opened, place, put


def pending(saver: Saver, checkpoint_id: str, **where: str) -> list[tuple[str, str, Any]]:
    found = opened(saver, place(checkpoint_id, **where))
    return found.pending_writes or []


@pytest.mark.proves("004-3.3-contents")
def test_a_checkpoint_comes_back_as_it_was(saver: Saver) -> None:
    values = {"messages": [{"role": "user", "content": "hi"}], "n": 1, "none": None}
    stored = put(saver, "a", values, step=3, run_id="run")
    assert stored == place("a")
    found = opened(saver, stored)
    assert found.config == stored
    assert found.checkpoint["id"] == "a"
    assert found.checkpoint["channel_values"] == values
    assert found.checkpoint["channel_versions"] == dict.fromkeys(values, f"{1:032}.0")
    assert found.checkpoint["versions_seen"] == {"node": {"start": f"{1:032}.0"}}
    assert found.checkpoint["updated_channels"] == ["messages", "n", "none"]
    assert found.metadata == {"source": "loop", "step": 3, "parents": {}, "run_id": "run"}
    assert found.parent_config is None
    assert found.pending_writes == []


@pytest.mark.proves("004-3.3-latest")
def test_without_an_id_the_newest_is_found(saver: Saver) -> None:
    for one in ("b", "c", "a"):
        put(saver, one)
    found = opened(saver)
    assert found.config == place("c")


@pytest.mark.proves("004-3.3-latest")
def test_what_is_not_there_is_none(saver: Saver) -> None:
    put(saver, "a")
    assert done(saver.aget_tuple(place("b"))) is None
    assert done(saver.aget_tuple(place(thread="other"))) is None
    assert done(saver.aget_tuple(place("a", ns="inner"))) is None


def test_a_checkpoint_knows_its_parent(saver: Saver) -> None:
    put(saver, "a")
    put(saver, "b", parent="a")
    found = opened(saver)
    assert found.parent_config == place("a")


def test_a_checkpoint_that_is_put_again_is_replaced_and_keeps_its_writes(saver: Saver) -> None:
    put(saver, "a", {"n": 1})
    done(saver.aput_writes(place("a"), [("n", 5)], "task"))
    put(saver, "a", {"n": 2}, version=2)
    found = opened(saver, place("a"))
    assert found.checkpoint["channel_values"] == {"n": 2}
    assert found.pending_writes == [("task", "n", 5)]


def test_threads_and_namespaces_do_not_see_each_other(saver: Saver) -> None:
    put(saver, "a", {"n": 1})
    put(saver, "a", {"n": 2}, thread="other")
    put(saver, "a", {"n": 3}, ns="inner:1|deeper:2")
    for where, expected in (
        (place("a"), 1),
        (place("a", thread="other"), 2),
        (place("a", ns="inner:1|deeper:2"), 3),
    ):
        found = opened(saver, where)
        assert found.checkpoint["channel_values"] == {"n": expected}
        assert found.config == where


def test_a_list_is_newest_first_and_can_be_narrowed(saver: Saver) -> None:
    for number, one in enumerate("abcd"):
        put(saver, one, step=number, source="input" if number % 2 else "loop")
    put(saver, "e", thread="other")
    put(saver, "f", ns="inner")
    assert ids(saver) == ["d", "c", "b", "a"]
    assert ids(saver, limit=2) == ["d", "c"]
    assert ids(saver, limit=0) == []
    assert ids(saver, before=place("c")) == ["b", "a"]
    assert ids(saver, filter={"source": "input"}) == ["d", "b"]
    assert ids(saver, filter={"source": "input"}, limit=1, before=place("d")) == ["b"]
    assert ids(saver, filter={"source": "input", "step": 7}) == []
    assert ids(saver, place("b")) == ["b"]
    every = [one.config["configurable"]["checkpoint_id"] for one in listed(saver, None)]
    assert sorted(every) == ["a", "b", "c", "d", "e", "f"]
    whole_thread: RunnableConfig = {"configurable": {"thread_id": "session-1"}}
    assert sorted(ids(saver, whole_thread)) == ["a", "b", "c", "d", "f"]


def test_writes_come_in_the_order_of_their_tasks(saver: Saver) -> None:
    put(saver, "a")
    done(saver.aput_writes(place("a"), [("x", 1), ("y", 2)], "task-1", "~b"))
    done(saver.aput_writes(place("a"), [("x", 3)], "task-2", "~a"))
    done(saver.aput_writes(place("a"), [("x", 4)], "task-0"))
    assert pending(saver, "a") == [
        ("task-0", "x", 4),
        ("task-2", "x", 3),
        ("task-1", "x", 1),
        ("task-1", "y", 2),
    ]


def test_writes_may_come_before_their_checkpoint(saver: Saver) -> None:
    done(saver.aput_writes(place("a"), [("x", 1)], "task"))
    assert done(saver.aget_tuple(place())) is None
    put(saver, "a")
    assert pending(saver, "a") == [("task", "x", 1)]


def test_a_task_that_runs_again_does_not_write_twice(saver: Saver) -> None:
    put(saver, "a")
    done(saver.aput_writes(place("a"), [("x", "first"), ("y", "first")], "task"))
    done(saver.aput_writes(place("a"), [("x", "second"), ("y", "second"), ("z", "new")], "task"))
    assert pending(saver, "a") == [
        ("task", "x", "first"),
        ("task", "y", "first"),
        ("task", "z", "new"),
    ]


@pytest.mark.parametrize("channel", [ERROR, SCHEDULED, INTERRUPT, RESUME])
def test_questions_answers_and_errors_are_replaced(saver: Saver, channel: str) -> None:
    put(saver, "a")
    done(saver.aput_writes(place("a"), [("x", 1), (channel, "first")], "task"))
    done(saver.aput_writes(place("a"), [(channel, "second")], "task"))
    assert sorted(pending(saver, "a")) == sorted([("task", "x", 1), ("task", channel, "second")])


def test_writes_of_namespaces_are_apart(saver: Saver) -> None:
    for ns in ("", "inner"):
        put(saver, "a", ns=ns)
        done(saver.aput_writes(place("a", ns=ns), [("x", ns)], "task"))
    assert pending(saver, "a") == [("task", "x", "")]
    assert pending(saver, "a", ns="inner") == [("task", "x", "inner")]


def test_a_deleted_thread_is_gone_with_its_namespaces_and_writes(saver: Saver) -> None:
    for thread in ("session-1", "other"):
        for ns in ("", "inner"):
            put(saver, "a", thread=thread, ns=ns)
            done(saver.aput_writes(place("a", thread=thread, ns=ns), [("x", 1)], "task"))
    done(saver.adelete_thread("session-1"))
    assert [one.config["configurable"]["thread_id"] for one in listed(saver, None)] == ["other"] * 2
    put(saver, "a")
    assert pending(saver, "a") == []


def test_versions_grow_and_differ_between_branches(saver: Saver) -> None:
    first = saver.get_next_version(None, None)
    second = saver.get_next_version(first, None)
    other = saver.get_next_version(first, None)
    assert first < second
    assert first < other != second
    assert saver.get_next_version(second, None) > max(second, other)


def test_a_channel_that_did_not_change_keeps_its_value(saver: Saver) -> None:
    put(saver, "a", {"big": ["x"], "n": 1})
    found = opened(saver, place("a"))
    again = found.checkpoint | {"id": "b"}
    again["channel_values"] = {"big": ["x"], "n": 2}
    again["channel_versions"] = found.checkpoint["channel_versions"] | {"n": f"{2:032}.0"}
    done(saver.aput(place("a"), again, {}, {"n": f"{2:032}.0"}))
    for one, n in (("a", 1), ("b", 2)):
        found = opened(saver, place(one))
        assert found.checkpoint["channel_values"] == {"big": ["x"], "n": n}


def test_a_branch_from_an_older_checkpoint_has_the_older_values(saver: Saver) -> None:
    put(saver, "a", {"n": "old"}, version=1)
    put(saver, "b", {"n": "new"}, version=2, parent="a")
    branch = opened(saver, place("a")).checkpoint | {"id": "c"}
    done(saver.aput(place("a"), branch, {"source": "fork"}, {}))
    assert opened(saver, place("c")).checkpoint["channel_values"] == {"n": "old"}
    put(saver, "d", {"n": "newest"}, version=1, parent="c")
    assert opened(saver, place("d")).checkpoint["channel_values"] == {"n": "newest"}
