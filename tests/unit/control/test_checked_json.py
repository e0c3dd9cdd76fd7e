"""Hostile JSON never gets past decoding (`control/checked_json.py`)."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from trunkline import limits
from trunkline.control.checked_json import decode
from trunkline.control.errors import InvalidRequest


class Thing(msgspec.Struct):
    name: str
    extra: Any = None


def nested(depth: int) -> bytes:
    return b'{"name": "x", "extra": ' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"null", "must be an object, not null"),
        (b"[]", "must be an object, not a list"),
        (b'{"extra": 1}', "'name' is missing"),
        (b'{"name": 7}', "name: must be a text"),
        (b'{"name": "x", "extra": NaN}', "malformed"),
        (b'{"name": "x", "extra": 1e999}', "out of range"),
        (b'{"name": "x", "extra": 9223372036854775808}', "out of range"),
        (b'{"name": "x", "extra": [{"a": -99999999999999999999999}]}', "out of range"),
        (b'{"name": "x", "extra": ' + b"9" * 10_000 + b"}", "out of range"),
        (b'{"name": "a\\u0000b"}', "NUL"),
        (b'{"name": "x", "extra": {"a\\u0000": 1}}', "NUL"),
        (b'{"name": "x", "extra": [[["\\\\\\u0000"]]]}', "NUL"),
        (b'{"name": "\\ud800"}', "body"),
        (b'{"name": "\\ud800\\ud800"}', "body"),
        (b'{"name": "\xff"}', "UTF-8"),
        (b'{"name": "\xed\xa0\x80"}', "UTF-8"),
        (b'{"name": "a\x00b"}', "body"),
        (b"\xef\xbb\xbf{}", "malformed"),
        (nested(limits.JSON_DEPTH_MAX + 1), "nested deeper"),
        (nested(5_000), "nested deeper"),
        (b'{"name": "x", "extra": ' + b"[" * 100_000, "nested deeper"),
        (b'{"name": "x"} {"name": "y"}', "trailing"),
    ],
)
def test_hostile_json_is_refused_with_a_reason(raw: bytes, complaint: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decode(raw, Thing)
    assert complaint in refused.value.message


class Choosing(msgspec.Struct):
    mode: Literal["plan", "ask"] | None = None
    deep: list["Choosing"] | dict[str, int] = []
    level: Annotated[Literal[1, 2], msgspec.Meta(description="how much")] = 1


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b'{"mode": "pln"}', "mode: 'pln' is not one of ask, plan: did you mean 'plan'?"),
        (b'{"mode": "\\u001b[2J"}', "x1b[2J' is not one of ask, plan"),
        (b'{"mode": "` - at `$.x`"}', "is not one of ask, plan"),
        (b'{"mode": ""}', "mode: '' is not one of ask, plan"),
        (b'{"deep": [{"deep": [{"mode": "no"}]}]}', "deep[0].deep[0].mode: 'no' is not one of ask"),
        (b'{"level": 3}', "level: '3' is not one of 1, 2"),
        (b'{"mode": 3}', "mode: must be a text or null, not a whole number"),
    ],
)
def test_a_word_that_is_none_of_a_few_is_refused_with_them(raw: bytes, complaint: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decode(raw, Choosing)
    assert complaint in refused.value.message


@pytest.mark.parametrize(
    "raw",
    [
        b'{"name": "x", "unknown": true}',
        b'{"name": "an escaped backslash: \\\\u0000"}',
        b'{"name": "x", "extra": 9223372036854775807}',
        b'{"name": "12345678901234567890"}',
        '{"name": "名字 😀"}'.encode(),
        nested(limits.JSON_DEPTH_MAX - 1),
        b'{"name": "x", "extra": [' + b"[]," * 1000 + b"[]]}",
    ],
)
def test_what_is_unusual_but_right_is_taken_and_can_be_written_again(raw: bytes) -> None:
    assert msgspec.json.decode(msgspec.json.encode(decode(raw, Thing)), type=Thing)
