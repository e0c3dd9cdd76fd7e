"""An MCP server with one tool, over stdio, for the memory of a session that has one. A program."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench")


@server.tool()
def shout(text: str) -> str:
    """Says it in capitals."""
    return text.upper()


if __name__ == "__main__":
    server.run()
