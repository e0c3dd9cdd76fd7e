"""Claude Code as a runtime: the program of that name, driven over its stream-json."""
