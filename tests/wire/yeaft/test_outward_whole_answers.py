"""Machines differ in what they call the answer of a turn: what was said after its last tool, or all
that was said. A Yeaft client must see neither twice."""

import pytest

from tests.wire.yeaft.outward_lines import Json, data, line

TOOL = line("tool_call_start", tool_name="bash", tool_call_id="c1", turn_id="t1")


def said(*lines: str) -> list[str]:
    def texts(one: Json) -> list[str]:
        blocks = one["message"]["content"] if one["type"] == "assistant" else []
        return [block["text"] for block in blocks if block["type"] == "text"]

    return [text for one in data(*lines) for text in texts(one)]


def text(content: str) -> str:
    return line("text_chunk", content=content, turn_id="t1")


def end(content: str) -> str:
    return line("execution_complete", content=content, turn_id="t1")


@pytest.mark.parametrize("answer", ["All done.", "Let me look. All done."])
def test_an_answer_that_was_streamed_around_a_tool_is_not_said_again(answer: str) -> None:
    pieces = ["Let me ", "look. ", "All done."]
    assert said(*map(text, pieces[:2]), TOOL, text(pieces[2]), end(answer)) == pieces


def test_an_answer_that_was_all_said_before_the_tool_is_not_said_again() -> None:
    assert said(text("Turning it off."), TOOL, end("Turning it off.")) == ["Turning it off."]


def test_an_answer_that_was_not_streamed_is_said_though_an_earlier_text_ended_like_it() -> None:
    assert said(text("First I look. Done."), TOOL, end("Done.")) == ["First I look. Done.", "Done."]
