"""Document 004 §1 and §2: what an execution plane is, and what it no longer holds."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-1-process-per-session",
        "Every session runs in a process of its own, under the one daemon of its machine.",
        "execution.md#what-it-is",
    ),
    Requirement(
        "004-1-one-user-per-machine",
        "A daemon serves one user: its line, its keys and its home are that user's alone.",
        "execution.md#what-it-is",
    ),
    Requirement(
        "004-1-one-line-for-all-sessions",
        "All sessions of a machine talk to the control plane through the daemon's one line.",
        "execution.md#what-it-is",
    ),
    Requirement(
        "004-1-whole-turn",
        "A message runs the whole loop of thinking, acting and reflecting on the machine, and its"
        " answer reaches the reader.",
        "execution.md#what-it-is",
    ),
    Requirement(
        "004-1-broken-line-harms-nothing",
        "A turn that runs while the line breaks goes on to its end, and its reader gets all of it.",
        "execution.md#what-it-is",
    ),
    Requirement(
        "004-2.1-mcp-stdio-only",
        "The machine's MCP client speaks stdio only; every other transport is the control plane's.",
        "execution.md#modules",
    ),
    Requirement(
        "004-2.2-no-server",
        "The execution plane listens on no port for others: it is a client of the control plane.",
        "execution.md#modules",
    ),
    Requirement(
        "004-2.2-no-database-no-queue",
        "It needs no Redis, no PostgreSQL and no task queue.",
        "execution.md#modules",
    ),
    Requirement(
        "004-2.2-no-long-term-memory",
        "Long-term memory, embeddings and the judgement of evolutions are left to the control"
        " plane.",
        "execution.md#modules",
    ),
    Requirement(
        "004-2.3-module-names",
        "Where the execution plane has a module of the document, it has the document's name.",
        "execution.md#modules",
    ),
)
