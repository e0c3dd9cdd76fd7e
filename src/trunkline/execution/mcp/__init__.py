"""MCP servers that a session starts itself."""
