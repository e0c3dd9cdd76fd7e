"""Conversations that had a cancel, a crash or another model in them can still be sent."""

import re

import pytest

from tests.support.models import used_tool
from trunkline.execution.llm.base import Message
from trunkline.execution.llm.history import CANCELLED, flattened, repaired, safe_id, safe_name


def user(text: str) -> Message:
    return Message(role="user", content=text)


def assistant(text: str) -> Message:
    return Message(role="assistant", content=text)


def test_a_whole_conversation_stays_as_it_is() -> None:
    messages = [*used_tool(), assistant("There is a.txt."), user("Thanks")]
    assert repaired(messages) == messages


def test_a_call_without_a_result_gets_a_cancelled_one() -> None:
    found = repaired([*used_tool(result=None), user("Go on")])
    assert [message["role"] for message in found] == ["user", "assistant", "tool", "user"]
    assert found[2] == {
        "role": "tool",
        "content": CANCELLED,
        "tool_call_id": "call_1",
        "is_error": True,
    }


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    asked, called = used_tool(result=None)
    called["tool_calls"] = [
        {"id": name, "name": "bash", "arguments": {}} for name in ("a", "b", "c")
    ]
    results = [
        Message(role="tool", content=name, tool_call_id=name) for name in ("c", "nobody", "a")
    ]
    found = repaired([asked, called, results[0], user("hurry"), *results[1:]])
    assert [message["content"] for message in found[2:]] == ["a", CANCELLED, "c", "hurry"]


def test_ids_that_come_again_in_a_later_answer_keep_their_own_results() -> None:
    found = repaired([*used_tool(result="first"), *used_tool(result="second")])
    results = [message["content"] for message in found if message["role"] == "tool"]
    assert results == ["first", "second"]


def test_a_result_without_a_call_is_left_out() -> None:
    orphan = Message(role="tool", content="?", tool_call_id="gone")
    assert repaired([orphan, user("Hi")]) == [user("Hi")]


def test_empty_messages_are_left_out_or_named() -> None:
    assert repaired([user(""), assistant("  "), user("Hi")]) == [
        user("(empty message)"),
        user("Hi"),
    ]


@pytest.mark.parametrize("messages", [[], [assistant("I was first")], [user("a"), assistant("b")]])
def test_there_is_always_something_to_answer(messages: list[Message]) -> None:
    found = repaired(messages)
    assert found[0]["role"] == "user"
    assert found[-1]["role"] == "user"


def test_repairing_leaves_the_conversation_itself_alone() -> None:
    messages = used_tool(result=None)
    repaired(messages)
    flattened(messages)
    assert messages == used_tool(result=None)


def test_a_model_without_tools_is_told_of_them_in_words() -> None:
    assert flattened([*used_tool(), user("And now?")]) == [
        user("What is here?"),
        assistant("Let me look.\n[called bash]"),
        user("[result] a.txt\n\nAnd now?"),
    ]


@pytest.mark.parametrize("name", ["bash", "", "launch missiles!", "工具", "x" * 500, "a\ud800b"])
def test_any_name_becomes_one_that_providers_take(name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", safe_name(name))
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", safe_id(name))


def test_a_good_id_is_kept_and_others_stay_distinct() -> None:
    assert safe_id("call_1") == "call_1"
    assert safe_id("call:1") != safe_id("call;1")
    assert safe_id("call:1") == safe_id("call:1")
