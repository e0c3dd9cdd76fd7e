"""How a program's own conversation is gone on with in a terminal. Pure; both planes tell people."""

import shlex

COMMANDS = {
    "claude-code": "claude --resume {id}",
    "codex": "codex resume {id}",
    "copilot": "copilot --resume={id}",
    "gemini": "gemini --resume {id}",
    "goose": "goose session --resume --session-id {id}",
    "opencode": "opencode --session {id}",
}
"""By the program: a runtime, or a preset of the runtime `acp`."""


def command(program: str, conversation_id: str) -> str:
    """From the folder that the conversation is of; empty for a program that is not known."""
    return COMMANDS.get(program, "").replace("{id}", shlex.quote(conversation_id))
