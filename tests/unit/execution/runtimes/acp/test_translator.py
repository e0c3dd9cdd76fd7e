"""What ACP agents say becomes the same events for everybody. The golden files hold messages as
opencode and Copilot sent them, the kinds that they do not send, and what is broken."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline import limits
from trunkline.execution.runtimes.acp.calls import PROGRESS_CHARS_MAX
from trunkline.execution.runtimes.acp.translator import CALLS_MAX, Translator
from trunkline.execution.runtimes.acp.usage import Usage

Json = dict[str, Any]
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))


def update(kind: str, /, **fields: Any) -> Json:
    return {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}


def said(text: str) -> Json:
    return update("agent_message_chunk", content={"type": "text", "text": text})


def play(golden: Json) -> tuple[list[Json], str]:
    translator = Translator()
    translator.asides = tuple(golden["asides"])
    translator.begin()
    events: list[Json] = []
    for method, params in golden["messages"]:
        if method == "printed":
            events += translator.printed(*params)
        elif method == "session/request_permission":
            events += translator.asked(params)[0]
        else:
            events += translator.take(method, params)
    return events + translator.end("cancelled"), translator.answer


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_same_messages_make_the_same_events(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    events, answer = play(golden)
    assert events == golden["events"]
    assert answer == golden["answer"]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_call_has_one_start_and_one_end(path: Path) -> None:
    events, _ = play(json.loads(path.read_text(encoding="utf-8")))
    for kind in ("tool_call_start", "tool_call_complete"):
        ids = [one["tool_call_id"] for one in events if one["type"] == kind]
        assert len(ids) == len(set(ids))
    started = {one["tool_call_id"]: one["tool_name"] for one in events if "start" in one["type"]}
    ended = {one["tool_call_id"]: one["tool_name"] for one in events if "complete" in one["type"]}
    assert started == ended


def test_a_call_that_was_only_announced_begins_when_something_else_comes() -> None:
    translator = Translator()
    translator.begin()
    announced = update("tool_call", toolCallId="c", title="think", status="pending", rawInput={})
    assert translator.take("session/update", announced) == []
    kinds = [one["type"] for one in translator.take("session/update", said("Hm"))]
    assert kinds == ["tool_call_start", "text_chunk"]


def test_the_person_who_is_asked_sees_the_question_and_the_call() -> None:
    translator = Translator()
    translator.begin()
    call = update("tool_call", toolCallId="c", kind="execute", rawInput={"command": "ls", "why": 1})
    translator.take("session/update", call)
    asked = {"toolCall": {"toolCallId": "c", "title": "run", "rawInput": {"command": "rm -r x"}}}
    _, question = translator.asked(asked)
    assert question.input == {"command": "rm -r x", "why": 1}
    done = update("tool_call_update", toolCallId="c", status="completed")
    [end] = translator.take("session/update", done)
    assert end["tool_input"] == {"command": "ls", "why": 1}


def test_the_answer_is_what_stands_behind_the_last_tool() -> None:
    translator = Translator()
    translator.begin()
    for params in (
        said("I look. "),
        update("tool_call", toolCallId="c", status="completed", kind="read"),
        said("It is "),
        update("available_commands_update", availableCommands=[]),
        said("blue."),
        update("tool_call", toolCallId="d", status="completed", kind="think"),
    ):
        translator.take("session/update", params)
    assert translator.answer == "It is blue."
    translator.begin()
    assert translator.answer == ""


def test_output_is_shown_up_to_a_bound_and_the_result_keeps_both_ends() -> None:
    translator = Translator()
    translator.begin()
    shown = 0
    text = ""
    for number in range(60):
        text += f"{number:04}" + "x" * 4_996
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        news = update("tool_call_update", toolCallId="c", status="in_progress", content=content)
        for event in translator.take("session/update", news):
            shown += len(event.get("content", ""))
    assert shown == PROGRESS_CHARS_MAX
    done = update("tool_call_update", toolCallId="c", status="completed")
    [end] = translator.take("session/update", done)
    assert end["result"].startswith("0000x")
    assert len(end["result"]) < limits.TOOL_RESULT_CHARS_MAX + 100


def test_calls_and_texts_without_end_are_bounded() -> None:
    translator = Translator()
    translator.begin()
    for number in range(CALLS_MAX + 50):
        call = update("tool_call", toolCallId=f"c{number}", status="in_progress")
        translator.take("session/update", call)
    for _ in range(3):
        translator.take("session/update", said("y" * limits.MESSAGE_CHARS_MAX))
    assert len(translator.end("over")) == CALLS_MAX
    assert len(translator.answer) <= limits.MESSAGE_CHARS_MAX


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *("toolCallId", "title", "kind", "status", "content", "rawInput", "rawOutput"),
        *("locations", "entries", "plan", "availableCommands", "configOptions", "cost", "id"),
        *("currentModeId", "modes", "models", "name", "input", "text", "messageId", "type"),
    ]
)
KINDS = st.sampled_from(
    [
        *("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"),
        *("plan_update", "available_commands_update", "current_mode_update", "usage_update"),
        *("config_option_update", "session_info_update", "user_message_chunk", "?"),
    ]
)
METHODS = st.sampled_from(
    [
        *("session/agent_text", "session/agent_thought", "session/tool_call"),
        *("session/tool_result", "session/turn_complete"),
    ]
)


@given(st.lists(st.tuples(METHODS, KINDS, st.dictionaries(NAMES, anything)), max_size=6))
def test_nothing_that_an_agent_sends_breaks_the_translation(
    messages: list[tuple[str, str, Json]],
) -> None:
    translator = Translator()
    translator.begin()
    events = []
    for method, kind, fields in messages:
        events += translator.take("session/update", update(kind, **fields))
        events += translator.take(method, fields)
        events += translator.asked({"toolCall": fields})[0]
    events += translator.end("over")
    assert all(isinstance(one["type"], str) for one in events)
    json.dumps(events).encode()


@pytest.mark.parametrize(
    "aside",
    [{"goose": {"toolCall": {"toolName": "shell"}}}, {"claudeCode": {"toolName": "shell"}}],
    ids=["goose", "claude"],
)
def test_a_tools_name_that_is_told_aside_is_its_name(aside: Json) -> None:
    translator = Translator()
    call: Json = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "shell · ls"}
    call |= {"rawInput": {"command": "ls"}, "_meta": aside}
    [told] = translator.take("session/update", {"update": call})
    assert (told["tool_name"], told["title"]) == ("shell", "shell · ls")


def test_what_an_agent_says_of_its_own_errors_is_no_answer() -> None:
    translator = Translator()
    translator.asides = ("Ran into this error: ",)
    translator.begin()
    words = "Ran into this error: no room."
    [told] = translator.take("session/update", said(words))
    assert told["type"] == "thinking"
    assert (translator.answer, translator.lone_text) == ("", words)


def test_words_of_codexs_adapter_have_no_name_and_are_no_answer() -> None:
    translator = Translator()
    translator.names_words = True
    translator.begin()
    named = update(
        "agent_message_chunk", messageId="m", content={"type": "text", "text": "So.\n\n"}
    )
    [answer] = translator.take("session/update", named)
    [own] = translator.take("session/update", said("The disk is full.\n\n"))
    assert (answer["type"], own["type"]) == ("text_chunk", "thinking")
    assert (translator.answer, translator.lone_text) == ("So.", "The disk is full.\n\n")


def test_what_a_command_printed_may_be_told_beside_the_call() -> None:
    translator = Translator()
    call = update(
        "tool_call", toolCallId="c", kind="execute", name="exec_command", rawInput={"a": 1}
    )
    translator.take("session/update", call)
    printed = {"_meta": {"terminal_output_delta": {"data": "forty-two\n", "terminal_id": "c"}}}
    done = update("tool_call_update", toolCallId="c", status="completed", **printed)
    piece, end = translator.take("session/update", done)
    assert (piece["content"], end["result"]) == ("forty-two\n", "forty-two\n")
    assert end["tool_name"] == "execute"


def test_a_call_keeps_the_name_that_it_began_with() -> None:
    translator = Translator()
    call = update("tool_call", toolCallId="c", kind="execute", rawInput={"a": 1})
    translator.take("session/update", call)
    done = update("tool_call_update", toolCallId="c", name="other", status="completed")
    [end] = translator.take("session/update", done)
    assert end["tool_name"] == "execute"


def test_codex_tells_a_turns_usage_and_leaves_out_what_the_cache_had() -> None:
    usage = Usage()
    told = {"inputTokens": 11, "cachedReadTokens": 100, "cachedWriteTokens": 20, "outputTokens": 7}
    for _ in range(2):
        share = usage.share("@agentclientprotocol/codex-acp", {"usage": told})
        assert (share.tokens_in, share.tokens_out, share.cache_read_tokens) == (131, 7, 100)


def test_usage_is_found_where_gemini_has_it_and_is_the_turns() -> None:
    usage = Usage()
    told = {"_meta": {"quota": {"token_count": {"input_tokens": 22, "output_tokens": 14}}}}
    for _ in range(2):
        share = usage.share("gemini-cli", told)
        assert (share.tokens_in, share.tokens_out) == (22, 14)


def test_what_a_terminal_printed_before_its_call_was_known_is_the_calls() -> None:
    """Goose says which terminal a command runs in when it has ended."""
    translator = Translator()
    assert translator.printed("t", "forty-") == []
    assert translator.printed("t", "two\n") == []
    shown = [{"type": "terminal", "terminalId": "t"}]
    done = update("tool_call_update", toolCallId="c", status="completed", content=shown)
    told = translator.take("session/update", done)
    kinds = [one["type"] for one in told]
    assert kinds == ["tool_call_start", "tool_call_progress", "tool_call_complete"]
    assert told[-1]["result"] == "forty-two\n"
