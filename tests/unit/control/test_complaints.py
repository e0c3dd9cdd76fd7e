"""A value that does not fit is refused in words: where, what is wrong with it, what would fit."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from trunkline.control.complaints import in_words


class Thing(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=9_000)] = "x"
    key: Annotated[str, Meta(min_length=4, pattern="^k")] = "k"
    where: Annotated[str, Meta(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")] = "http://x"
    said: Annotated[str, Meta(pattern=r"\S")] = "x"
    count: Annotated[int, Meta(ge=1, le=5)] = 1
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    flag: bool | None = None
    tags: Annotated[list[str], Meta(max_length=1)] = []
    within: "list[Needing]" = []
    by_name: dict[str, int] = {}


class Needing(msgspec.Struct):
    what: str


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"name": ""}, "name: must not be empty"),
        ({"name": "x" * 9_001}, "name: may have at most 9,000 characters"),
        ({"key": "k"}, "key: needs at least 4 characters"),
        ({"key": "long"}, "key: must be of the form ^k"),
        ({"where": "ftp://x"}, "where: must be an address that begins with http:// or https://"),
        ({"said": " "}, "said: must not be blank"),
        ({"count": 0}, "count: must be 1 or more"),
        ({"count": 6}, "count: must be 5 or less"),
        ({"share": 0.0}, "share: must be more than 0"),
        ({"share": 1.0}, "share: must be less than 1"),
        ({"flag": "yes"}, "flag: must be true or false or null, not a text"),
        ({"tags": ["a", "b"]}, "tags: may have at most 1 entry"),
        ({"tags": "a"}, "tags: must be a list, not a text"),
        ({"within": [{}]}, "within[0]: 'what' is missing"),
        ({"within": [{"what": 1}]}, "within[0].what: must be a text, not a whole number"),
        ({"by_name": {"a": "`$.x`"}}, "by_name[...]: must be a whole number, not a text"),
        ([], "must be an object, not a list"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_words(value: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(value, Thing)
    assert in_words(str(refused.value)) == words


@pytest.mark.parametrize("said", ["", "JSON is malformed: invalid character (byte 0)", "a - at `$"])
def test_what_is_not_known_stays_as_it_was_said(said: str) -> None:
    assert in_words(said) == said
