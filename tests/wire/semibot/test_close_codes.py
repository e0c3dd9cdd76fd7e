"""Close codes are API: the numbers of source document 000 §8, and one line of text for each."""

import pytest

from trunkline.wire.semibot import close_codes
from trunkline.wire.semibot.close_codes import CloseCode


@pytest.mark.proves("000-8-close-code-table")
def test_the_documents_codes_have_its_numbers() -> None:
    assert {code.name: int(code) for code in CloseCode if code >= 4000} == {
        "AUTH_FAILED": 4001,
        "NO_ACTIVE_VM": 4003,  # of deployed servers; the others are the document's
        "USER_NOT_FOUND": 4004,
        "TIMEOUT": 4008,
        "RATE_LIMITED": 4029,
        "INTERNAL_ERROR": 4500,
    }


def test_every_code_says_when_it_happens_and_what_to_do() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (close_codes.__doc__ or "").splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    explained = {int(row[0]): row[1:] for row in rows if row[0].isdigit()}
    assert set(explained) == {int(code) for code in CloseCode}
    assert all(when and then for when, then in explained.values())


def test_every_code_is_one_that_may_be_sent() -> None:
    # RFC 6455 §7.4: 1005, 1006 and 1015 never travel, 4000 to 4999 are a protocol's own.
    allowed = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011} | set(range(4000, 5000))
    assert {int(code) for code in CloseCode} <= allowed
