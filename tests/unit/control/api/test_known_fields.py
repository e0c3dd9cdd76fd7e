"""Fields that nobody knows: seen at every level that has a type, and nowhere else."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from trunkline.control.api.known_fields import check_fields
from trunkline.control.errors import InvalidRequest


class Inner(msgspec.Struct):
    name: str = ""


class Body(msgspec.Struct):
    title: str = ""
    one: Inner | None = None
    many: Annotated[list[Inner], Meta(max_length=3)] = []
    free: dict[str, Any] | None = None


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"title": "x", "one": {"name": "y"}, "many": [{"name": "z"}, {}]}',
        b'{"one": null, "many": [], "free": {"titel": {"anything": [1]}}}',
    ],
)
def test_known_names_and_free_objects_pass(raw: bytes) -> None:
    check_fields(raw, Body)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"titel": "x"}', "'titel': did you mean 'title'?"),
        (b'{"Title": "x"}', "did you mean 'title'?"),
        (b'{"one": {"nam": "x"}}', "one[0]: unknown field 'nam': did you mean 'name'?"),
        (b'{"many": [{}, {"nome": 1}]}', "many[1]: unknown field 'nome': did you mean 'name'?"),
        (b'{"zzzzzz": 1}', "body: unknown field 'zzzzzz'"),
        (b'{"\\u001b[2J\\n": 1}', r"unknown field '\x1b[2J\n'"),
    ],
)
def test_an_unknown_name_is_refused_with_its_place(raw: bytes, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_fields(raw, Body)
    assert caught.value.code == "UNKNOWN_FIELD"
    assert words in caught.value.message


def test_a_body_without_a_type_is_not_looked_at() -> None:
    check_fields(b'{"anything": 1}', dict[str, Any])
