"""Remote MCP servers through the control plane, with and without the line."""

from typing import Any

import pytest

from tests.unit.execution.tools.support import Call, Control
from trunkline import limits
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.home import Home
from trunkline.execution.mcp.servers import LocalServer, RemoteMcp, RemoteServer, parse_servers
from trunkline.execution.mcp.tools import (
    MCP_SCHEMAS_BYTES_MAX,
    MCP_TOOL_DESCRIPTION_CHARS_MAX,
    MCP_TOOL_SCHEMA_BYTES_MAX,
    tools_of,
)
from trunkline.execution.tools.base import Tool

LIST = {
    "tools": [
        {
            "name": "find",
            "description": "Finds.",
            "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
            "annotations": {"readOnlyHint": True},
        },
        {"name": "delete", "inputSchema": {"type": "object"}, "annotations": "odd"},
    ]
}


async def listed(control: Control) -> list[Tool]:
    return await tools_of(RemoteMcp(RemoteServer(name="wiki", trust_hints=True), control))


@pytest.mark.proves("004-7.2-remote-mcp", "004-3.1-call-remote-mcp")
async def test_tools_are_listed_and_called_by_the_control_plane(home: Home) -> None:
    text = {"content": [{"type": "text", "text": "found"}]}
    control = Control(mcp_tools=LIST, mcp_call={"result": text})
    find, delete = await listed(control)
    assert (find.name, find.description) == ("mcp__wiki__find", "Finds.")
    assert not find.is_dangerous({})
    assert delete.is_dangerous({})
    assert (await Call(home).run(find, q="tea")).content == "found"
    wanted = {"server": "wiki", "tool": "find", "arguments": {"q": "tea"}}
    assert control.asked[1] == ("mcp_call", wanted)


@pytest.mark.parametrize(
    ("trusted", "hints", "dangerous"),
    [
        (True, {"readOnlyHint": True}, False),
        (False, {"readOnlyHint": True}, True),
        (True, {"readOnlyHint": True, "destructiveHint": True}, True),
        (True, {"readOnlyHint": True, "destructiveHint": False}, False),
        (True, {"readOnlyHint": "yes"}, True),
        (True, {"destructiveHint": False}, True),
        (True, {}, True),
    ],
)
async def test_what_a_server_says_of_its_tools_counts_where_people_trust_it(
    trusted: bool, hints: dict[str, Any], dangerous: bool
) -> None:
    """That one destroys counts in any case, and beats that it only reads."""
    listing = {"tools": [{"name": "find", "inputSchema": {}, "annotations": hints}]}
    server = RemoteServer(name="wiki", trust_hints=trusted)
    [tool] = await tools_of(RemoteMcp(server, Control(mcp_tools=listing)))
    assert tool.is_dangerous({}) is dangerous


async def test_without_a_list_the_server_is_one_tool(home: Home) -> None:
    control = Control(mcp_call={"result": "plain"})
    (tool,) = await listed(control)
    assert tool.name == "mcp__wiki"
    assert tool.is_dangerous({"tool": "find"})
    result = await Call(home).run(tool, tool="find", arguments={"q": "tea"})
    assert result.content == "plain"
    assert control.asked[1][1] == {"server": "wiki", "tool": "find", "arguments": {"q": "tea"}}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("down"), "cannot be reached at the moment"),
        (TimeoutError(), "did not answer in time"),
        (RequestFailed("MCP_ERROR", "the tool broke"), "the tool broke"),
        (RequestFailed("MCP_ERROR", "x" * 100_000), "x…"),
    ],
    ids=["line", "time", "error", "long"],
)
@pytest.mark.proves("004-10-remote-mcp")
async def test_a_call_that_fails_is_an_error_that_the_model_reads(
    home: Home, error: Exception, reason: str
) -> None:
    find = (await listed(Control(mcp_tools=LIST, mcp_call=error)))[0]
    with pytest.raises(ToolError, match=reason) as caught:
        await Call(home).run(find, q="tea")
    assert len(str(caught.value)) < limits.MCP_ERROR_CHARS_MAX + 100


@pytest.mark.parametrize("answer", [None, [], {"tools": None}, {"tools": {}}])
async def test_what_is_no_list_is_an_error(answer: Any) -> None:
    with pytest.raises(ToolError, match="no list of tools"):
        await listed(Control(mcp_tools=answer))


def odd_tool(**fields: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": {"type": "object"}, **fields}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        7,
        [],
        {"type": "string"},
        {"anyOf": []},
        {"type": "object", "properties": 7},
        {"type": "object", "required": "x"},
        {"type": "object", "description": "x" * (MCP_TOOL_SCHEMA_BYTES_MAX + 1)},
    ],
    ids=lambda schema: str(schema)[:40],
)
async def test_a_schema_that_models_would_refuse_is_left_out(schema: Any) -> None:
    (tool,) = await listed(Control(mcp_tools={"tools": [odd_tool(inputSchema=schema)]}))
    assert tool.parameters == {"type": "object", "properties": {}}


async def test_schemas_of_one_server_are_bounded_together() -> None:
    schema = {"type": "object", "properties": {}, "description": "x" * 15_000}
    tools = [odd_tool(name=f"t{n}", inputSchema=schema) for n in range(50)]
    found = await listed(Control(mcp_tools={"tools": tools}))
    whole = [tool for tool in found if "description" in tool.parameters]
    assert len(found) == 50
    assert 0 < len(whole) * 15_000 <= MCP_SCHEMAS_BYTES_MAX


async def test_odd_tools_are_skipped_and_there_are_not_too_many() -> None:
    odd: list[Any] = [None, 7, {}, {"name": 7}, {"name": ""}, {"name": "n" * 500}, odd_tool()]
    assert [tool.name for tool in await listed(Control(mcp_tools={"tools": odd}))] == [
        "mcp__wiki__t"
    ]
    many = [odd_tool(name=f"t{n}") for n in range(1000)]
    found = await listed(Control(mcp_tools={"tools": [*many, odd_tool(name="t0")]}))
    assert len(found) == limits.MCP_TOOLS_OFFERED_MAX


async def test_a_huge_description_is_cut() -> None:
    (tool,) = await listed(Control(mcp_tools={"tools": [odd_tool(description="d" * 100_000)]}))
    assert len(tool.description) == MCP_TOOL_DESCRIPTION_CHARS_MAX


def deployed(**fields: Any) -> dict[str, Any]:
    """An entry as deployed control planes write it: no type."""
    return {"id": "srv-1", "name": "wiki", **fields}


@pytest.mark.proves("notes-1-server-mcp-entries", "notes-1-server-unsupported-method")
async def test_a_remote_server_of_a_deployed_control_plane_is_called_by_its_id(home: Home) -> None:
    tools = [{"name": "find", "description": "Finds.", "parameters": {"type": "object"}}, "odd"]
    entry = deployed(transport="http", endpoint="https://x.example.com", available_tools=tools)
    problems: list[str] = []
    (server,) = parse_servers([entry], problems)
    assert isinstance(server, RemoteServer)
    assert problems == []
    unsupported = RequestFailed("UNSUPPORTED_METHOD", "no such method")
    control = Control(mcp_tools=unsupported, mcp_call={"result": "plain"})
    (find,) = await tools_of(RemoteMcp(server, control))
    assert find.name == "mcp__wiki__find"
    assert (await Call(home).run(find, q="tea")).content == "plain"
    wanted = {"server": "srv-1", "tool": "find", "arguments": {"q": "tea"}}
    assert control.asked[-1] == ("mcp_call", wanted)


async def test_a_server_whose_tools_nobody_names_is_one_tool() -> None:
    (server,) = parse_servers([deployed(transport="http")], [])
    assert isinstance(server, RemoteServer)
    control = Control(mcp_tools=RequestFailed("UNSUPPORTED_METHOD", "no such method"))
    assert [tool.name for tool in await tools_of(RemoteMcp(server, control))] == ["mcp__wiki"]


@pytest.mark.proves("notes-1-server-mcp-entries")
def test_a_local_server_of_a_deployed_control_plane_is_its_endpoint() -> None:
    auth = {"env": {"TOKEN": "t"}}
    entry = deployed(transport="stdio", endpoint="mcp-fs '/a b' --ro", auth_config=auth)
    problems: list[str] = []
    (server,) = parse_servers([entry], problems)
    assert isinstance(server, LocalServer)
    assert problems == []
    assert (server.command, server.args) == ("mcp-fs", ["/a b", "--ro"])
    assert server.env == {"TOKEN": "t"}


@pytest.mark.parametrize(
    "fields",
    [
        {"transport": "stdio"},
        {"transport": "stdio", "endpoint": ""},
        {"transport": "stdio", "endpoint": "'unclosed"},
        {"transport": "stdio", "endpoint": 7},
        {"transport": "stdio", "endpoint": "x", "auth_config": {"env": {"A": 7}}},
        {"transport": "stdio", "endpoint": "x" * 100_000},
        {"transport": "http", "name": ""},
        {"transport": "http", "id": 7},
        {"transport": "http", "id": "x" * 1_000},
    ],
)
def test_an_entry_that_cannot_be_used_is_said_and_passed_over(fields: dict[str, Any]) -> None:
    problems: list[str] = []
    assert parse_servers([deployed(**fields)], problems) == []
    assert len(problems) == 1
