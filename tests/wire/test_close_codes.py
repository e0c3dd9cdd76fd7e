"""Close codes are API: one file for each wire, in which each code says when it happens and what to
do, and a page that lists the same."""

import re
from enum import IntEnum
from pathlib import Path
from types import ModuleType

import pytest

from trunkline.wire import frames, rate
from trunkline.wire.agp import close_codes as agp
from trunkline.wire.myagent import close_codes as myagent
from trunkline.wire.semibot import close_codes as semibot
from trunkline.wire.yeaft import close_codes as yeaft

PAGES = Path(__file__).parents[2] / "docs" / "protocols"
WIRES = {"agp": agp, "myagent": myagent, "semibot": semibot, "yeaft": yeaft}
ROW = re.compile(r"^\| (\d{4}) +\| (.+?) +\| (.+?) +\|$", re.MULTILINE)
EVERYWHERE = {
    frames.PROTOCOL_ERROR,
    frames.UNSUPPORTED_DATA,
    frames.INVALID_TEXT,
    frames.MESSAGE_TOO_BIG,
    rate.RATE_LIMITED,
}
"""What the socket below every wire may close with."""

every_wire = pytest.mark.parametrize(("name", "module"), WIRES.items(), ids=WIRES)


def codes(module: ModuleType) -> list[int]:
    found: type[IntEnum] = module.CloseCode
    return [int(code) for code in found]


@pytest.mark.proves("000-8-close-code-table")
def test_the_source_documents_codes_have_its_numbers() -> None:
    assert {code.name: int(code) for code in semibot.CloseCode if code >= 4000} == {
        "AUTH_FAILED": 4001,
        "NO_ACTIVE_VM": 4003,  # of deployed servers; the others are the document's
        "USER_NOT_FOUND": 4004,
        "TIMEOUT": 4008,
        "RATE_LIMITED": 4029,
        "INTERNAL_ERROR": 4500,
    }


@every_wire
def test_every_code_says_when_it_happens_and_what_to_do(name: str, module: ModuleType) -> None:
    rows = ROW.findall(module.__doc__ or "")
    assert [int(code) for code, _, _ in rows] == codes(module)
    assert all(when.strip() and then.strip() for _, when, then in rows)


@every_wire
def test_the_page_lists_the_same_codes_in_the_same_order(name: str, module: ModuleType) -> None:
    rows = ROW.findall((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    assert [int(code) for code, _, _ in rows] == codes(module)
    assert all(when.strip() and then.strip() for _, when, then in rows)


@every_wire
def test_every_code_is_one_that_may_be_sent(name: str, module: ModuleType) -> None:
    # RFC 6455 §7.4: 1005, 1006 and 1015 never travel, 4000 to 4999 are a protocol's own.
    allowed = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1013} | set(range(4000, 5000))
    assert set(codes(module)) <= allowed


@every_wire
def test_what_the_socket_closes_with_is_a_code_of_every_wire(name: str, module: ModuleType) -> None:
    assert set(codes(module)) >= EVERYWHERE
