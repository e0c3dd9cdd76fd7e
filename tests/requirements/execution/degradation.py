"""Document 004 §10 and §11: what works without the line, and the document's figures."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-10-short-term-memory",
        "Without a line, short-term memory is read and written.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-checkpoints",
        "Without a line, checkpoints are written and read.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-models",
        "Without a line, models are called with the keys in memory.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-local-mcp",
        "Without a line, tools of local MCP servers work.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-code",
        "Without a line, code and commands run.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-long-term-memory",
        "Without a line, a search of long-term memory is empty and the turn goes on.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-remote-mcp",
        "Without a line, a remote MCP tool fails with an error that the model reads and plans"
        " around.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-uncached-skill",
        "Without a line, a skill that is not cached fails with an error.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-cached-skill",
        "Without a line, a cached skill works.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-usage",
        "Usage that was reported without a line is kept on disk and arrives once, with its"
        " session, when the line is back.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-events",
        "Events that were made without a line are kept and arrive once and in order when it is"
        " back.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-10-snapshots",
        "A snapshot that is due without a line is skipped, and the next one has the newest state.",
        "execution.md#degradation",
    ),
    Requirement(
        "004-11-figures",
        "The figures of the document are the limits: heartbeat 10 s, request 60 s, snapshots 60 s,"
        " 10 checkpoints, reconnection 1 to 30 s, code 30 s, 10 tool calls, 3 retries.",
        "execution.md#figures",
    ),
    Requirement(
        "004-11-code-timeout",
        "Code that runs longer than 30 seconds is ended with all that it started.",
        "execution.md#figures",
    ),
    Requirement(
        "004-11-tool-calls",
        "A step (每轮: one answer of the model) makes at most 10 tool calls; the model is told"
        " which were not made. A turn is bounded by its model calls.",
        "execution.md#figures",
    ),
    Requirement(
        "004-11-audit-through-the-line",
        "Audit entries go to the control plane and stay in no store of the machine.",
        "execution.md#figures",
    ),
)
