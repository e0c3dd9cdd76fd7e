"""Document 004 §7: SemiGraph's nodes."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-7-graph-per-session",
        "Every SemiGraph session has a graph of its own, whose nodes know its session, memory and"
        " control plane.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.1-short-term-memory",
        "A turn begins with the conversation so far, as the session's files hold it.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.1-long-term-memory",
        "A turn begins with a search of long-term memory for the message, five results at most,"
        " and the model is told what was found.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.1-search-failed",
        "A search that fails or takes too long leaves the turn without long-term memory, and it"
        " goes on.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.2-skill-by-cache",
        "A skill that is used comes from the machine's cache, and from the control plane where it"
        " is not there.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.2-local-mcp",
        "A tool of a local MCP server is called over stdio on the machine.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.2-remote-mcp",
        "A tool of a remote MCP server is called through the control plane.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.2-code",
        "Code runs on the machine itself, in the workspace, with no other sandbox.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.2-results",
        "The model gets the result of every tool call it asked for, under the call's id.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.3-memory",
        "After acting, `last_action` is in the context and the notes are in the scratchpad.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.3-evolution",
        "A finding that is worth keeping is handed in by `evolution_submit`; without one nothing"
        " is.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.4-text",
        "The answer goes up as `text_chunk` events while the model still writes it.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.4-complete",
        "A turn ends with `execution_complete` and the whole answer in `content`.",
        "execution.md#graph",
    ),
    Requirement(
        "004-7.4-usage",
        "A turn's model, input tokens and output tokens are reported under its session.",
        "execution.md#graph",
    ),
)
