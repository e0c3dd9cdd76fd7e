"""What an agent's messages become in the log (docs/protocols/yeaft.md#messages-from-agents)."""

import json
from typing import Any

import pytest

from tests.wire.yeaft.inward_talk import (
    ID,
    TURN,
    assistant,
    conversation,
    heard,
    lines,
    message,
    output,
    result,
)
from trunkline.wire import events
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

DIALECTS = pytest.mark.parametrize("dialect", ["documented", "deployed"])


def test_text_thinking_and_tools_are_events_of_the_turn() -> None:
    state = conversation()
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "tool_1", "name": "bash", "input": {"command": "ls"}},
    ]
    assert heard(state, assistant(*blocks)) == [
        {"type": "thinking", "content": "hm", "stage": "reasoning", "turn_id": TURN},
        {"type": "text_chunk", "content": "I look.", "turn_id": TURN},
        {
            "type": "tool_call_start",
            "tool_call_id": "tool_1",
            "tool_name": "bash",
            "tool_input": {"command": "ls"},
            "turn_id": TURN,
        },
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("a.txt", "a.txt"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image", "source": {"data": "AAAA"}}], "[image]"),
        (["plain", {"type": "text", "text": "b"}], "plain\nb"),
        ({"exit": 0}, '{"exit":0}'),
        (None, ""),
        ([], ""),
    ],
)
def test_a_tools_result_is_shown_as_text_under_the_tools_name(content: Any, shown: str) -> None:
    state = conversation()
    heard(state, assistant({"type": "tool_use", "id": "t1", "name": "bash", "input": {}}))
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": True}
    (event,) = heard(state, output(type="user", message={"role": "user", "content": [block]}))
    assert event == {
        "type": "tool_call_complete",
        "tool_call_id": "t1",
        "tool_name": "bash",
        "result": shown,
        "is_error": True,
        "turn_id": TURN,
    }


def test_a_result_whose_call_nobody_saw_has_a_name_all_the_same() -> None:
    block = {"type": "tool_result", "tool_use_id": "t9", "content": "x"}
    (event,) = heard(conversation(), output(type="user", message={"content": [block]}))
    assert (event["tool_name"], event["is_error"]) == ("tool", False)


def test_what_a_user_said_only_comes_back() -> None:
    echo = output(type="user", message={"role": "user", "content": "hello"})
    assert heard(conversation(), echo) == [
        {"type": "foreign", "protocol": "yeaft", "name": "claude_output", "turn_id": TURN}
    ]


def test_a_result_ends_the_turn_with_all_that_was_said_and_its_cost() -> None:
    state = conversation()
    heard(state, assistant({"type": "text", "text": "One "}))
    heard(state, assistant({"type": "text", "text": "two."}))
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3}
    made = heard(state, result(usage=usage, duration_ms=12, total_cost_usd=0.5, num_turns=2))
    assert made == [
        {
            "type": "usage",
            "calls": 2,
            "tokens_in": 10,
            "tokens_out": 5,
            "cache_read_tokens": 3,
            "duration_ms": 12,
            "cost_usd": 0.5,
            "turn_id": TURN,
        },
        {"type": "execution_complete", "content": "One two.", "turn_id": TURN},
    ]
    assert state.turn_id is None


def test_the_agents_own_final_answer_wins() -> None:
    state = conversation()
    heard(state, assistant({"type": "text", "text": "I look. "}))
    (end,) = heard(state, result(result="Two files."))
    assert end["content"] == "Two files."


@pytest.mark.parametrize(
    ("subtype", "fields", "error", "code"),
    [
        ("error_max_turns", {}, "the agent took as many turns as it may", "TURN_LIMIT"),
        ("error_during_execution", {"result": "boom"}, "boom", "AGENT_ERROR"),
        ("error_of_a_new_kind", {"error": "odd"}, "odd", "AGENT_ERROR"),
        ("success", {"is_error": True, "result": "no credit"}, "no credit", "AGENT_ERROR"),
    ],
)
@DIALECTS
def test_a_turn_that_fails_ends_with_an_error(
    dialect: str, subtype: str, fields: dict[str, Any], error: str, code: str
) -> None:
    state = conversation(dialect)
    made = heard(state, result(subtype, **fields))
    if dialect == "deployed":
        made = heard(state, message("turn_completed"))
    assert made == [{"type": "execution_error", "error": error, "code": code, "turn_id": TURN}]


def test_a_deployed_agents_turn_ends_with_turn_completed_and_not_before() -> None:
    state = conversation("deployed")
    heard(state, assistant({"type": "text", "text": "done"}))
    (usage,) = heard(state, result(usage={"input_tokens": 1}))
    assert usage["type"] == "usage"
    (end,) = heard(state, message("turn_completed", claudeSessionId="own-2"))
    assert end == {"type": "execution_complete", "content": "done", "turn_id": TURN}
    assert state.remote_id == "own-2"


def test_a_turn_that_needed_no_program_ends_without_a_result() -> None:
    state = conversation("deployed")
    heard(state, assistant({"type": "text", "text": "not a command"}))
    (end,) = heard(state, message("turn_completed"))
    assert end["content"] == "not a command"


@pytest.mark.parametrize(
    ("kind", "dialect"),
    [("result", "documented"), ("execution_cancelled", "deployed"), ("closed", "deployed")],
)
def test_a_cancelled_turn_is_complete_and_cancelled(kind: str, dialect: str) -> None:
    state = conversation(dialect)
    heard(state, assistant({"type": "text", "text": "half"}))
    state.is_cancelling = True
    told = {
        "result": result("error_during_execution"),
        "execution_cancelled": message("execution_cancelled"),
        "closed": message("conversation_closed"),
    }[kind]
    assert heard(state, told) == [
        {"type": "execution_complete", "content": "half", "cancelled": True, "turn_id": TURN}
    ]


def test_a_turn_that_was_finished_before_its_cancel_is_not_cancelled() -> None:
    state = conversation()
    state.is_cancelling = True
    (end,) = heard(state, result())
    assert "cancelled" not in end


@pytest.mark.parametrize("kind", ["conversation_closed", "conversation_deleted"])
def test_a_program_that_is_gone_ends_the_turn_with_the_last_error(kind: str) -> None:
    state = conversation("deployed")
    heard(state, message("error", message="out of memory"))
    (end,) = heard(state, message(kind, exitCode=137))
    assert end == {
        "type": "execution_error",
        "error": "out of memory",
        "code": "SESSION_CRASHED",
        "exit_code": 137,
        "turn_id": TURN,
    }


@pytest.mark.parametrize(
    "told",
    [result(), message("turn_completed"), message("execution_cancelled")],
    ids=["result", "turn_completed", "execution_cancelled"],
)
def test_without_a_turn_nothing_ends(told: dict[str, Any]) -> None:
    (event,) = heard(conversation("deployed", turn=None), told)
    assert event["type"] == "foreign"


@pytest.mark.parametrize(
    ("answer", "dialect", "remote_id"),
    [
        (message("session_ready", sessionId="own-1"), "documented", "own-1"),
        (message("conversation_created", workDir="/srv"), "deployed", ""),
        (message("conversation_resumed", claudeSessionId="own-2"), "deployed", "own-2"),
    ],
)
def test_the_first_answer_tells_the_dialect(
    answer: dict[str, Any], dialect: str, remote_id: str
) -> None:
    state = conversation("", turn=None)
    (event,) = heard(state, {**answer, "capabilities": ["text"], "modelInfo": {"name": "m"}})
    assert (state.dialect, state.remote_id) == (dialect, remote_id)
    assert (event["type"], event["machine"], event["machine_id"]) == (
        "session_status",
        "online",
        "machine-1",
    )
    assert event["ready"]["capabilities"] == ["text"]
    assert event["ready"]["model_info"] == {"name": "m"}
    assert event["ready"].get("session_id", "") == remote_id


def test_the_agents_own_id_is_learnt_from_whatever_names_it() -> None:
    state = conversation()
    heard(state, output(type="system", subtype="init", session_id="own-1"))
    assert state.remote_id == "own-1"
    heard(state, message("session_id_update", claudeSessionId="own-2"))
    assert state.remote_id == "own-2"
    heard(state, result(session_id="own-3"))
    assert state.remote_id == "own-3"


def progress(call_id: Any, content: Any = "half") -> dict[str, Any]:
    return output(type="system", subtype="tool_progress", tool_use_id=call_id, content=content)


def test_the_progress_of_a_tool_is_shown_under_the_tools_name() -> None:
    state = conversation()
    heard(state, assistant({"type": "tool_use", "id": "c", "name": "bash", "input": {}}))
    (event,) = heard(state, progress("c"))
    assert event == {
        "type": "tool_call_progress",
        "tool_call_id": "c",
        "tool_name": "bash",
        "content": "half",
        "turn_id": TURN,
    }
    (odd,) = heard(state, progress("c", {"a": 1}))
    assert odd["content"] == '{"a":1}'


@pytest.mark.parametrize("call_id", ["c", "", None, 5, ["c"]])
def test_the_progress_of_a_tool_of_no_turn_or_another_is_kept_as_foreign(call_id: Any) -> None:
    state = conversation()
    heard(state, assistant({"type": "tool_use", "id": "c", "name": "bash", "input": {}}))
    state.begin("another")
    (event,) = heard(state, progress(call_id))
    assert event["type"] == "foreign"
    assert not state.has_spoken


def test_system_words_are_kept_and_errors_among_them_are_shown() -> None:
    state = conversation()
    (init,) = heard(state, output(type="system", subtype="init", tools=["bash"]))
    assert init["type"] == "foreign"
    (error,) = heard(state, output(type="system", subtype="error", message="low on memory"))
    assert error == {
        "type": "session_status",
        "machine": "online",
        "problems": ["low on memory"],
        "turn_id": TURN,
    }


def test_the_first_event_carries_the_envelope_and_the_others_say_that_it_has() -> None:
    odd = (
        f' {{"x": [1, 2.50], "type":"claude_output","conversationId":"{ID}", "data":'
        '{"type":"assistant","message":{"content":[{"type":"text","text":"\\u0061"},'
        '{"type":"text","text":"b"}]}}}'
    )
    first, second = lines(conversation(), odd)
    assert first.endswith(f',"raw":{{"protocol":"yeaft","message":{odd}}}}}')
    assert json.loads(second)["raw"] == {"protocol": "yeaft"}


@pytest.mark.parametrize("said", ["Hello", 'héllo 😀\n\t"quoted" \\ </script>', " ", "\u2028\x7f"])
def test_an_envelope_that_is_made_the_same_again_is_not_kept_twice(said: str) -> None:
    text = json.dumps(
        assistant({"type": "text", "text": said}), separators=(",", ":"), ensure_ascii=False
    )
    (line,) = lines(conversation(), text)
    assert json.loads(line) == {"type": "text_chunk", "content": said, "turn_id": TURN}
    (out,) = from_events(Outward(ID, relays=True), 1, line)
    assert out.body.decode() == text


@pytest.mark.parametrize(
    "kind", ["crew_output", "context_usage", "something_new", "compact_status", "execution_error"]
)
def test_what_means_nothing_to_a_session_is_kept_as_foreign(kind: str) -> None:
    told = message(kind, whatever={"a": [1]})
    (line,) = lines(conversation(), json.dumps(told))
    event = json.loads(line)
    assert (event["type"], event["name"]) == ("foreign", kind)
    assert event["raw"] == {"protocol": "yeaft", "message": told}


def test_after_a_restart_the_log_tells_what_was_said() -> None:
    before = conversation()
    kept = lines(before, json.dumps(assistant({"type": "text", "text": "before, "})))
    tool = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    kept += lines(before, json.dumps(assistant(tool)))
    after = conversation()
    for line in kept:
        event = events.read(line)
        assert event is not None
        after.recall(event)
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    (complete,) = heard(after, output(type="user", message={"content": [block]}))
    assert complete["tool_name"] == "bash"
    heard(after, assistant({"type": "text", "text": "after"}))
    assert heard(after, result())[-1]["content"] == "before, after"


def test_a_conversation_that_is_taken_up_again_says_so_and_repeats_no_history() -> None:
    """A deployed agent answers `resume_conversation` with hundreds of old messages."""
    state = conversation("deployed", turn=None)
    told = message("conversation_resumed", claudeSessionId="own", historyMessages=[{"n": 1}])
    (line,) = lines(state, json.dumps(told))
    assert json.loads(line)["ready"] == {"session_id": "own", "again": True}
    assert "historyMessages" not in line


def test_the_history_of_a_session_that_is_new_here_is_kept() -> None:
    state = conversation("", turn=None)
    told = message("conversation_resumed", claudeSessionId="own", historyMessages=[{"n": 1}])
    (line,) = lines(state, json.dumps(told))
    assert "again" not in json.loads(line)["ready"]
    assert json.loads(line)["raw"]["message"] == told
