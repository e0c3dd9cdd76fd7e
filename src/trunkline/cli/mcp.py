"""`trunkline mcp`: MCP servers, remote and local."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("mcp", "MCP servers.")


@remote(app, "list", example="trunkline mcp list")
async def list_servers(client: "Client", limit: Limit = 50) -> Rows:
    """List MCP servers."""
    found = await taken(client.each("mcp-servers"), limit)
    return Rows(found, ("id", "name", "type", "url", "command", "timeout_s"))


@remote(
    app,
    "add",
    example="trunkline mcp add github --server https://mcp.example/mcp"
    " --header-env Authorization=GITHUB_AUTH",
)
async def add(
    client: "Client",
    name: str,
    server: Annotated[str | None, typer.Option(help="A remote server's address.")] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(help="HEADER=VARIABLE: send this variable's value; repeatable."),
    ] = None,
    command: Annotated[str | None, typer.Option(help="A local server's program.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="Its arguments; repeatable.")] = None,
    timeout_s: Annotated[float | None, typer.Option(help="Limit of one call.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="For the whole organisation.")] = False,
) -> Record:
    """Add a remote MCP server (--server) or a local one (--command)."""
    if (server is None) == (command is None):
        raise typer.BadParameter("give either --server or --command")
    body = given(
        name=name,
        type="local" if server is None else "remote",
        url=server,
        headers=dict(map(_header, header_env)) if header_env else None,
        command=command,
        args=arg or None,
        timeout_s=timeout_s,
        shared=shared or None,
    )
    return Record(await client.post("mcp-servers", body=body))


@remote(app, "delete", example="trunkline mcp delete ID")
async def delete(client: "Client", server_id: str) -> Done:
    """Remove an MCP server."""
    await client.delete("mcp-servers", server_id)
    return Done(f"deleted {server_id}")


def _header(text: str) -> tuple[str, str]:
    """The value comes from the environment: a command line can be read by others."""
    name, equals, variable = text.partition("=")
    if not equals or not name or not variable:
        raise typer.BadParameter(f"{text!r} is not HEADER=VARIABLE")
    value = os.environ.get(variable)
    if value is None:
        raise CommandFailed(f"the environment has no {variable}")
    return name, value
