"""Answers of MCP tools as text, whatever they are made of."""

from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.mcp.tools import tool_result


def content(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"content": list(blocks), **more}


def test_texts_are_joined() -> None:
    result = tool_result(content({"type": "text", "text": "a"}, {"type": "text", "text": "b"}))
    assert (result.content, result.is_error) == ("a\nb", False)


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "AAAA"}, "[image: image/png, 3 bytes]"),
        ({"type": "audio", "data": 7}, "[audio: unknown type, 0 bytes]"),
        ({"type": "resource", "resource": {"uri": "file:a", "text": "hello"}}, "hello"),
        ({"type": "resource", "resource": {"uri": "u"}}, "[resource: u, unknown type]"),
        ({"type": "resource", "resource": None}, "(no output)"),
        ({"type": "resource_link", "uri": "file:a"}, "[resource: file:a]"),
        ({"type": "new", "x": 1}, '{"type":"new","x":1}'),
        ("odd", "(no output)"),
    ],
)
def test_every_kind_of_block_is_shown(block: Any, shown: str) -> None:
    assert tool_result(content(block)).content == shown


def test_an_error_is_an_error() -> None:
    result = tool_result(content({"type": "text", "text": "no"}, isError=True))
    assert result.is_error


def test_structured_content_is_shown_where_there_is_no_text() -> None:
    assert tool_result(content(structuredContent={"a": 1})).content == '{"a":1}'
    both = content({"type": "text", "text": "a is 1"}, structuredContent={"a": 1})
    assert tool_result(both).content == "a is 1"


@pytest.mark.parametrize(
    ("value", "shown"), [("text", "text"), ({"a": 1}, '{"a":1}'), (None, "null"), ([1], "[1]")]
)
def test_what_is_no_tool_result_is_shown_as_it_is(value: Any, shown: str) -> None:
    assert tool_result(value).content == shown


def test_a_huge_answer_is_cut() -> None:
    result = tool_result(content({"type": "text", "text": "x" * 1_000_000}))
    assert result.details["output_cut_chars"] == 1_000_000 - limits.TOOL_RESULT_CHARS_MAX
