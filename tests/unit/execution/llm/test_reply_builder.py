"""Parts of an answer at the edges of what a server may send."""

import pytest

from trunkline import limits
from trunkline.execution.llm.base import Thinking
from trunkline.execution.llm.errors import Service
from trunkline.execution.llm.reply_builder import MODEL_MALFORMED_CHARS, ReplyBuilder, count, parsed

SERVICE = Service("openai", "api.openai.com")


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert parsed(text) == {}


def test_good_arguments_are_read() -> None:
    assert parsed(' {"a": [1, "é", null]} ') == {"a": [1, "é", None]}


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "{", "{'a': 1}", '{"a": \x00}', '{"a": NaN}', "[" * 100_000, '{"a":1} {"b":2}'],
    ids=lambda text: text[:10],
)
def test_bad_arguments_keep_the_beginning_of_their_text(text: str) -> None:
    assert parsed(text) == {"_malformed": text[:MODEL_MALFORMED_CHARS]}


def test_arguments_nested_too_deep_are_not_taken() -> None:
    def nested(depth: int) -> str:
        return '{"a":' * depth + "1" + "}" * depth

    assert "_malformed" not in parsed(nested(limits.JSON_DEPTH_MAX))
    assert "_malformed" in parsed(nested(limits.JSON_DEPTH_MAX + 1))


def test_half_a_character_in_arguments_can_still_be_written_down() -> None:
    assert str(parsed('{"a": "\ud83d"')).encode()
    assert str(parsed('{"a": "\\ud83d"}')).encode()


@pytest.mark.parametrize(
    ("value", "tokens"),
    [(7, 7), (0, 0), (-3, 0), (None, 0), ("7", 0), (True, 0), (1.5, 0), (10**30, 10**12)],
)
def test_a_number_of_tokens_is_a_number_or_none(value: object, tokens: int) -> None:
    assert count(value) == tokens


@pytest.mark.parametrize("piece", [None, 5, ["a"], {"a": 1}, ""])
def test_a_piece_that_is_no_text_says_nothing(piece: object) -> None:
    answer = ReplyBuilder(SERVICE, "m")
    assert answer.text(piece) is None
    assert answer.thinking(piece) is None
    assert answer.empty


def test_half_a_character_waits_for_its_other_half() -> None:
    answer = ReplyBuilder(SERVICE, "m")
    assert answer.thinking("\ud83d") is None
    assert answer.thinking("\ude00") == Thinking("😀")


def test_names_and_ids_are_bounded() -> None:
    answer = ReplyBuilder(SERVICE, "m")
    answer.call().named("i" * 10_000, "n" * 10_000)
    [made] = answer.reply().tool_calls
    assert len(made["id"]) == limits.ID_CHARS_MAX
    assert len(made["name"]) == limits.NAME_CHARS_MAX
