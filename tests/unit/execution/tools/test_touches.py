"""Which calls of one step run side by side."""

from typing import Any

import pytest

from trunkline.execution.mcp.tools import AnyMcpTool, McpTool
from trunkline.execution.tools.asking import Delegate
from trunkline.execution.tools.base import Tool, Touches


class Server:
    """As much of an MCP server as the order needs."""

    trust_hints = False

    def __init__(self, name: str, *, is_remote: bool) -> None:
        self.name = name
        self.is_remote = is_remote

    async def tools(self) -> list[dict[str, Any]] | None:
        return None

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


def mcp(name: str, *, is_remote: bool = False, **hints: bool) -> Tool:
    return McpTool(Server(name, is_remote=is_remote), {"name": "t", "annotations": hints}, {})


READS_FILE, WRITES_FILE = Touches(reads=("/w/a",)), Touches(writes=("/w/a",))
TASK = Delegate([{"id": "a"}]).touches({})
LOCAL, LOCAL_READS = mcp("x").touches({}), mcp("x", readOnlyHint=True).touches({})
AFAR, AFAR_READS = (
    mcp("far", is_remote=True).touches({}),
    mcp("far", is_remote=True, readOnlyHint=True).touches({}),
)
OTHER = mcp("other", is_remote=True).touches({})
BOTH_HINTS = mcp("x", readOnlyHint=True, destructiveHint=True).touches({})
ANY = AnyMcpTool(Server("far", is_remote=True)).touches({})


@pytest.mark.parametrize(
    ("one", "other", "disturbs"),
    [
        (TASK, TASK, False),
        (TASK, WRITES_FILE, True),
        (TASK, READS_FILE, True),
        (TASK, Touches(), False),
        (TASK, LOCAL, True),
        (LOCAL, LOCAL, True),
        (LOCAL, READS_FILE, True),
        (LOCAL, LOCAL_READS, True),
        (LOCAL_READS, LOCAL_READS, False),
        (LOCAL_READS, READS_FILE, False),
        (LOCAL_READS, WRITES_FILE, True),
        (BOTH_HINTS, LOCAL_READS, True),
        (AFAR, AFAR, True),
        (AFAR, AFAR_READS, True),
        (AFAR_READS, AFAR_READS, False),
        (AFAR, WRITES_FILE, False),
        (AFAR, OTHER, False),
        (AFAR, ANY, True),
    ],
)
def test_calls_run_side_by_side_unless_one_may_change_what_the_other_uses(
    one: Touches, other: Touches, disturbs: bool
) -> None:
    assert one.disturbs(other) is disturbs
    assert other.disturbs(one) is disturbs


def test_rules_about_files_do_not_know_what_arguments_of_a_server_mean() -> None:
    assert mcp("x").paths({"name": "a"}) is None
    assert AnyMcpTool(Server("far", is_remote=True)).paths({"tool": "t"}) is None
