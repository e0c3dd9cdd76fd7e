"""Names of MCP tools: what models take, and one for each tool."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.permissions.names import mcp_name

PAIRS = st.tuples(st.text(min_size=1, max_size=80), st.text(max_size=80))


def test_plain_names_are_kept() -> None:
    assert mcp_name("time", "get_current_time") == "mcp__time__get_current_time"
    assert mcp_name("my-server", "") == "mcp__my-server"


@given(PAIRS)
@example(("数据", "查询"))
@example(("a" * 200, "b" * 200))
@example(("\ud800", "\x00"))
def test_every_name_is_one_that_models_take(pair: tuple[str, str]) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", mcp_name(*pair))


@given(PAIRS, PAIRS)
@example(("a__b", "c"), ("a", "b__c"))
@example(("a_", "b"), ("a", "_b"))
@example(("a.b", "c"), ("a_b", "c"))
@example(("x" * 70, "a"), ("x" * 70, "b"))
@example(("a", ""), ("a__b", ""))
def test_different_tools_have_different_names(one: tuple[str, str], two: tuple[str, str]) -> None:
    assert (mcp_name(*one) == mcp_name(*two)) == (one == two)
