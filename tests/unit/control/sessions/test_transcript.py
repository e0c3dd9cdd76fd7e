"""A session's conversation out of its log, for a machine that has lost its own."""

import json
from typing import Any

from trunkline.control.sessions.conversation import NO_RESULT
from trunkline.control.sessions.transcript import fitting, messages_of

Json = dict[str, Any]


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def started(call_id: str, name: str = "bash", **more: Any) -> str:
    about = {"tool_name": name, "tool_call_id": call_id, "tool_input": {"n": call_id}}
    return line("tool_call_start", **about, **more)


def done(call_id: str, result: str, **more: Any) -> str:
    return line("tool_call_complete", tool_name="bash", tool_call_id=call_id, result=result, **more)


LOG = [
    line("user_message", content="look", turn_id="t1"),
    line("thinking", content="hm"),
    line("text_chunk", content="let me "),
    line("text_chunk", content="see"),
    started("a"),
    started("b"),
    started("of a sub-agent", agent="helper"),
    line("text_chunk", content="inner", agent="helper"),
    done("of a sub-agent", "inner", agent="helper"),
    done("b", "2", is_error=True),
    done("a", "1"),
    started("c"),
    done("c", "3"),
    line("text_chunk", content="found"),
    line("execution_complete", content="found"),
    "no event",
    "[]",
    line("user_message", content="more", turn_id="t2"),
    started("d"),
    line("execution_error", code="SESSION_CRASHED", error="gone"),
    line("user_message", content="again", turn_id="t3"),
    line("execution_complete", content="only here"),
]


def test_questions_answers_calls_and_results_come_out_in_their_order() -> None:
    def call(call_id: str) -> Json:
        return {"id": call_id, "name": "bash", "arguments": {"n": call_id}}

    def result(call_id: str, content: str, is_error: bool = False, turn: str = "t1") -> Json:
        found = {"role": "tool", "tool_call_id": call_id, "content": content}
        return {**found, "is_error": is_error, "turn_id": turn}

    assert messages_of(LOG) == [
        {"role": "user", "content": "look", "turn_id": "t1"},
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [call("a"), call("b")],
            "turn_id": "t1",
        },
        result("a", "1"),
        result("b", "2", is_error=True),
        {"role": "assistant", "content": "", "tool_calls": [call("c")], "turn_id": "t1"},
        result("c", "3"),
        {"role": "assistant", "content": "found", "turn_id": "t1"},
        {"role": "user", "content": "more", "turn_id": "t2"},
        {"role": "assistant", "content": "", "tool_calls": [call("d")], "turn_id": "t2"},
        result("d", NO_RESULT, is_error=True, turn="t2"),
        {"role": "user", "content": "again", "turn_id": "t3"},
        {"role": "assistant", "content": "only here", "turn_id": "t3"},
    ]


def test_what_is_said_while_a_turn_runs_stands_between_no_call_and_its_result() -> None:
    def said(text: str, **more: Any) -> str:
        return line("user_message", content=text, **more)

    log = [
        said("look", turn_id="t1"),
        started("a", turn_id="t1"),
        said("left", turn_id="t1", steers="t1", message_id="m1"),
        said("later", turn_id="t2"),  # waits for its turn
        said("too late", turn_id="t1", steers="t1", message_id="m2"),
        done("a", "1", turn_id="t1"),
        line("text_chunk", content="found", turn_id="t1"),
        line("steer_taken", message_id="m1", turn_id="t1"),
        line("execution_complete", content="found", turn_id="t1"),
        line("steer_missed", turn_id="m2", message_id="m2", steers="t1"),
        line("execution_complete", content="done later", turn_id="t2"),
        line("execution_complete", content="done too", turn_id="m2"),
    ]
    messages = messages_of(log)
    assert [(one["role"], one["content"], one["turn_id"]) for one in messages] == [
        ("user", "look", "t1"),
        ("assistant", "", "t1"),
        ("tool", "1", "t1"),
        ("user", "left", "t1"),
        ("assistant", "found", "t1"),
        ("user", "later", "t2"),
        ("assistant", "done later", "t2"),
        ("user", "too late", "m2"),
        ("assistant", "done too", "m2"),
    ]
    assert [one["steers"] for one in messages if "steers" in one] == ["m1"]


def test_odd_events_of_machines_are_passed_over() -> None:
    odd = [
        line("text_chunk", content=7),
        line("tool_call_start", tool_call_id=None),
        line("tool_call_complete", tool_call_id={"a": 1}, result=[]),
        line("user_message", content=None, turn_id=3),
        "{" * 10_000,
    ]
    assert messages_of(odd) == []


def test_what_does_not_fit_is_cut_in_long_results_first_and_in_old_turns_then() -> None:
    turns = [
        message
        for number in range(10)
        for message in messages_of(
            [
                line("user_message", content=f"question {number}", turn_id=str(number)),
                started("a"),
                done("a", "x" * 50_000),
                line("text_chunk", content="yes"),
                line("execution_complete", content="yes"),
            ]
        )
    ]
    cut = fitting(turns, 250_000)
    assert len(cut) == len(turns)
    assert all(len(one["content"]) < 21_000 for one in cut)
    newest = fitting(turns, 100_000)
    assert newest[0]["role"] == "user"
    assert newest[-1] == turns[-1]
    assert len(newest) < len(turns)
