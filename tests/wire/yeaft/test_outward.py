"""What each session event becomes for a web client of the documented dialect."""

import json

import pytest

from tests.wire.yeaft.outward_lines import AGENT, CONVERSATION, data, kinds, line, messages
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

SAID = line("user_message", content="hello", turn_id="t1", ts=1_000)


@pytest.mark.proves("002-4.3-assistant-blocks", "002-4.2-claude-output", "002-1-flat-envelope")
def test_text_is_an_assistant_message_with_a_text_block() -> None:
    assert messages(line("text_chunk", content="hi", turn_id="t1")) == [
        {
            "type": "claude_output",
            "conversationId": CONVERSATION,
            "data": {
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
            },
        }
    ]


def test_an_agents_plain_text_and_ours_are_the_same_bytes() -> None:
    agents = json.dumps(
        {
            "type": "claude_output",
            "conversationId": CONVERSATION,
            "data": {
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": 'é"\n'}]},
            },
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
    (out,) = from_events(Outward(CONVERSATION), 1, line("text_chunk", content='é"\n'))
    assert out.body.decode() == agents


@pytest.mark.proves("002-4.3-assistant-blocks")
def test_thinking_is_a_thinking_block() -> None:
    (found,) = data(line("thinking", content="hm", stage="reasoning"))
    assert found["message"]["content"] == [{"type": "thinking", "thinking": "hm"}]


@pytest.mark.proves("002-4.3-assistant-blocks", "002-4.3-tool-result")
def test_a_tool_call_is_a_use_and_a_result_with_the_same_id() -> None:
    use, result = data(
        line("tool_call_start", tool_call_id="c1", tool_name="bash", tool_input={"cmd": "ls"}),
        line("tool_call_complete", tool_call_id="c1", tool_name="bash", result="a.txt"),
    )
    assert use["message"]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"cmd": "ls"}}
    ]
    assert result["type"] == "user"
    assert result["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}
    ]


def test_calls_without_ids_are_paired_by_their_tool_in_order() -> None:
    found = data(
        line("tool_call_start", tool_name="bash", arguments={"n": 1}),
        line("tool_call_start", tool_name="bash", arguments={"n": 2}),
        line("tool_call_complete", tool_name="bash", result="one"),
        line("tool_call_complete", tool_name="bash", result="two"),
    )
    uses = [one["message"]["content"][0]["id"] for one in found[:2]]
    results = [one["message"]["content"][0]["tool_use_id"] for one in found[2:]]
    assert uses == results
    assert len(set(uses)) == 2


def test_a_result_without_a_call_brings_its_call_along() -> None:
    use, result = data(line("tool_call_complete", tool_name="bash", tool_input={}, result="x"))
    block = use["message"]["content"][0]
    assert (block["type"], block["name"]) == ("tool_use", "bash")
    assert result["message"]["content"][0]["tool_use_id"] == block["id"]


def test_a_failed_tool_says_so_and_structured_results_stay_readable() -> None:
    failed = data(line("tool_call_complete", tool_name="x", result="no", is_error=True))[1]
    assert failed["message"]["content"][0]["is_error"] is True
    blocks = [{"type": "text", "text": "a"}]
    same = data(line("tool_call_complete", tool_name="x", result=blocks))[1]
    assert same["message"]["content"][0]["content"] == blocks
    other = data(line("tool_call_complete", tool_name="x", result={"a": [1]}))[1]
    assert json.loads(other["message"]["content"][0]["content"]) == {"a": [1]}


def test_a_skill_is_a_tool_of_that_name_and_progress_ends_no_tool() -> None:
    use, result = data(
        line("skill_call_start", skill_name="pdf", arguments={"page": 1}),
        line("skill_call_complete", skill_name="pdf", result="ok"),
    )
    assert use["message"]["content"][0]["input"] == {"skill": "pdf", "page": 1}
    assert result["message"]["content"][0]["content"] == "ok"
    _, progress = data(
        line("tool_call_start", tool_call_id="c", tool_name="bash"),
        line("tool_call_progress", tool_call_id="c", tool_name="bash", content="…"),
    )
    assert progress == {
        "type": "system",
        "subtype": "tool_progress",
        "tool_use_id": "c",
        "content": "…",
    }


@pytest.mark.proves("002-4.3-result")
def test_a_turn_ends_with_one_result_that_holds_usage_cost_and_time() -> None:
    found = data(
        SAID,
        line("text_chunk", content="4", turn_id="t1"),
        line("usage", tokens_in=7, tokens_out=2, cache_read_tokens=1, cost_usd=0.5, turn_id="t1"),
        line("execution_complete", content="4", turn_id="t1", ts=1_250),
    )
    assert found[-1] == {
        "type": "result",
        "subtype": "success",
        "session_id": CONVERSATION,
        "is_error": False,
        "duration_ms": 250,
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 1},
        "result": "4",
    }
    assert kinds(found) == ["user", "assistant", "result"]


def test_an_answer_that_was_never_streamed_is_said_before_the_result() -> None:
    found = data(SAID, line("execution_complete", final_response="42", turn_id="t1"))
    assert kinds(found) == ["user", "assistant", "result"]
    assert found[1]["message"]["content"] == [{"type": "text", "text": "42"}]


def test_what_was_said_before_a_tool_call_is_not_the_answer() -> None:
    found = data(
        SAID,
        line("text_chunk", content="let me look: ok", turn_id="t1"),
        line("tool_call_start", tool_name="bash", tool_call_id="c", turn_id="t1"),
        line("tool_call_complete", tool_name="bash", tool_call_id="c", result="", turn_id="t1"),
        line("execution_complete", content="ok", turn_id="t1"),
    )
    assert found[-2]["message"]["content"] == [{"type": "text", "text": "ok"}]


def test_streamed_text_counts_for_ends_and_pieces_that_name_no_turn() -> None:
    found = data(
        line("text_chunk", content="hi"), line("execution_complete", content="hi", turn_id="t9")
    )
    assert kinds(found) == ["assistant", "result"]


@pytest.mark.proves("002-4.3-result", "002-4.3-system")
def test_an_error_is_told_and_ends_the_turn() -> None:
    problem, result = data(
        line("execution_error", error="no key", code="MODEL_KEY_MISSING", turn_id="t1")
    )
    assert problem == {
        "type": "system",
        "subtype": "error",
        "message": "no key",
        "code": "MODEL_KEY_MISSING",
    }
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert result["result"] == "no key"
    *_, limit = data(line("execution_error", error="50 calls", code="TURN_LIMIT"))
    assert limit["subtype"] == "error_max_turns"


def test_a_cancelled_turn_is_no_error() -> None:
    (result,) = data(line("execution_complete", cancelled=True, turn_id="t1"))
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", False)
    assert result["cancelled"] is True


def test_a_second_end_of_the_same_turn_is_not_shown() -> None:
    end = line("execution_complete", content="", turn_id="t1")
    assert kinds(data(SAID, end, end, line("execution_error", error="x", turn_id="t1"))) == [
        "user",
        "result",
    ]


def test_what_a_person_said_carries_its_id_so_that_its_sender_can_leave_it_out() -> None:
    said = line(
        "user_message",
        content="hello",
        turn_id="t1",
        client_message_id="cm_1",
        attachments=[{"name": "a.png", "mime": "image/png"}],
    )
    (out,) = from_events(Outward(CONVERSATION), 1, said)
    assert out.said == "cm_1"
    found = json.loads(out.body)["data"]
    assert found["message"]["content"] == [{"type": "text", "text": "hello"}]
    assert found["message"]["attachments"] == [{"name": "a.png", "mime": "image/png"}]
    assert found["clientMessageId"] == "cm_1"


def test_a_machine_that_comes_or_goes_is_an_agent_status() -> None:
    assert messages(line("session_status", machine="offline", machine_id=AGENT, ts=5)) == [
        {
            "type": "agent_status",
            "conversationId": CONVERSATION,
            "agentId": AGENT,
            "state": "offline",
        }
    ]


def test_a_message_that_waits_lost_events_and_problems_are_told_in_words() -> None:
    found = data(
        line("session_status", machine="offline", machine_id=AGENT, held=True),
        line("session_status", machine="online", lost_events=3),
        line("session_status", machine="gone", message="it did not come back"),
        line("session_status", machine="degraded", degraded=["memory"], works=["tools"]),
    )
    assert [one["subtype"] for one in found] == ["status"] * 4
    assert [one["message"] for one in found] == [
        "the machine is offline: the message waits until it is back",
        "the machine lost 3 events here",
        "it did not come back",
        "memory",
    ]


def test_plans_and_files_are_system_events_with_their_fields() -> None:
    plan, file, change = data(
        line("plan", steps=[{"title": "look"}], turn_id="t1"),
        line("file_created", path="a.txt", size=3),
        line("file_changed", path="a.txt", change="created", diff="+a"),
    )
    assert plan == {"type": "system", "subtype": "plan", "steps": [{"title": "look"}]}
    assert file == {"type": "system", "subtype": "file_created", "path": "a.txt", "size": 3}
    changed = {"type": "system", "subtype": "file_changed", "path": "a.txt"}
    assert change == {**changed, "change": "created", "diff": "+a"}


def test_what_a_helper_does_names_the_call_that_gave_it_its_task() -> None:
    of_helper = {"agent": "researcher", "parent_tool_call_id": "c1"}
    told = data(
        line("text_chunk", content="42", **of_helper),
        line("tool_call_start", tool_name="x", tool_call_id="c2", **of_helper),
        line("tool_call_complete", tool_name="x", tool_call_id="c2", result="no", denied=True),
    )
    assert [one.get("parent_tool_use_id") for one in told] == ["c1", "c1", None]
    assert told[-1]["message"]["content"][0]["is_error"] is True


def test_a_helpers_words_are_thoughts_and_no_part_of_the_answer() -> None:
    found = data(
        SAID,
        line("text_chunk", content="42", agent="researcher", turn_id="t1"),
        line("execution_complete", content="42", turn_id="t1"),
    )
    blocks = [one["message"]["content"][0]["type"] for one in found[1:3]]
    assert blocks == ["thinking", "text"]


def test_a_closed_session_is_told_in_either_dialect() -> None:
    closed = line("session_closed", reason="user_closed", duration_ms=5, ts=9)
    assert messages(closed) == [
        {
            "type": "conversation_closed",
            "conversationId": CONVERSATION,
            "agentId": AGENT,
            "reason": "user_closed",
        }
    ]
    assert kinds(messages(closed, deployed=True)) == ["conversation_closed", "conversation_deleted"]


@pytest.mark.proves("002-4.2-session-ready", "002-8-session-ready-fields")
def test_a_session_that_is_ready_is_told_with_what_it_can() -> None:
    ready = {"session_id": "s-9", "capabilities": ["tools"], "model_info": {"model": "m"}}
    (found,) = messages(line("session_status", machine="online", machine_id=AGENT, ready=ready))
    assert found == {
        "type": "session_ready",
        "conversationId": CONVERSATION,
        "sessionId": "s-9",
        "capabilities": ["tools"],
        "modelInfo": {"model": "m"},
        "agentId": AGENT,
    }


def test_what_this_wire_cannot_say_is_left_out_whole() -> None:
    other = '{"type":"foreign","protocol":"agp","raw":{"protocol":"agp","message":{"a":1}}}'
    assert messages(other, line("never_heard_of"), "no json", "[]", '{"type":5}', "") == []
