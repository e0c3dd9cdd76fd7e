"""A device's URL: complete, or refused with a reason."""

import pytest

from trunkline.control.edges.agp.handshake import Asked, check_url, read_query
from trunkline.control.errors import InvalidRequest

ALL = {"guid": "device_001", "user_id": "user_123", "token": "dev_x"}


@pytest.mark.parametrize(
    ("missing", "asked"),
    [
        ({}, Asked("device_001", "user_123", "dev_x")),
        ({"user_id": ""}, Asked("device_001", "", "dev_x")),
        ({"user_id": "", "guid": ""}, Asked("", "", "dev_x")),
    ],
)
@pytest.mark.proves("notes-4-token-and-guid")
def test_a_token_may_stand_for_what_is_missing(missing: dict[str, str], asked: Asked) -> None:
    assert read_query(ALL | missing, is_open=False) == asked
    left_out = {name: value for name, value in ALL.items() if name not in missing}
    assert read_query(left_out, is_open=False) == asked


@pytest.mark.parametrize("token", ["", "dev_x", "any", "t" * 5000, "two words \x00 é"])
@pytest.mark.proves("notes-4-any-token-where-open")
def test_where_it_is_open_the_name_has_to_be_whole_and_the_token_says_nothing(token: str) -> None:
    whole = ALL | {"token": token}
    assert read_query(whole, is_open=True) == Asked("device_001", "user_123", "")
    assert read_query({"token": "dev_x"}, is_open=True) == Asked("", "", "dev_x")


@pytest.mark.parametrize(
    ("query", "is_open", "problem"),
    [
        ({}, True, "guid and user_id, or a device's token, are missing"),
        ({"guid": "d"}, True, "user_id is missing"),
        ({"guid": "d"}, False, "user_id is missing"),
        ({"guid": "d", "token": "dev_x"}, True, "user_id is missing"),
        ({"user_id": "u", "token": "dev_x"}, False, "guid is missing"),
        ({"user_id": "u", "token": "dev_x"}, True, "guid is missing"),
        ({"guid": "d", "user_id": "u"}, False, "token is missing"),
        (ALL | {"guid": "d" * 129}, True, "guid has more than 128 characters"),
        (ALL | {"user_id": "u" * 101}, True, "user_id has more than 100 characters"),
        (ALL | {"token": "t" * 201}, False, "token has more than 200 characters"),
        (ALL | {"guid": "a b"}, True, "guid may have visible ASCII characters only"),
        (ALL | {"guid": "a\x7f"}, True, "guid may have visible ASCII characters only"),
        (ALL | {"user_id": "é"}, True, "user_id may have visible ASCII characters only"),
    ],
)
def test_what_is_missing_or_impossible_is_named(
    query: dict[str, str], is_open: bool, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_query(query, is_open=is_open)
    assert problem in refused.value.message


@pytest.mark.parametrize("escape", ["%", "%4", "%zz", "%4z", "%%41", "%u0041"])
def test_a_broken_escape_is_named(escape: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_url(f"GET /?guid=a{escape}&user_id=u HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert "escape" in refused.value.message


def test_escapes_that_are_whole_and_whatever_the_headers_hold_are_read() -> None:
    check_url(b"GET /?guid=%41%2f%2F%25zz HTTP/1.1\r\nHost: x\r\nCookie: 100%\r\n\r\n")
