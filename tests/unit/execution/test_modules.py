"""What the execution plane consists of, and what it must not need (document 004 §2, §11)."""

import ast
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.parsed import parsed
from trunkline import limits

SOURCE = Path(__file__).parents[3] / "src" / "trunkline" / "execution"

# The names of 004 §11, but for OpenClaw's, for what `wire` and `limits` hold, and for what is one
# file here.
NAMES = [
    "main",
    "session.manager",
    "session.runtime_adapter",
    "session.semigraph_adapter",
    "ws.client",
    "memory.local_memory",
    "checkpoint.local_checkpointer",
    "orchestrator.graph",
    "orchestrator.nodes",
    "orchestrator.state",
    "orchestrator.edges",
    "orchestrator.context",
    "skills.registry",
    "skills.code_executor",
    "llm.base",
    "llm.anthropic_provider",
    "llm.openai_provider",
    "llm.router",
    "mcp.client",
]

SERVERS = {"aiohttp.web", "http.server", "socketserver", "uvicorn", "fastapi", "picows"}
SERVERS |= {"mcp.server", "websockets"}
STORES = {"redis", "asyncpg", "psycopg", "sqlalchemy", "sqlite3", "celery", "nats"}
LONG_TERM = {"numpy", "model2vec", "sentence_transformers", "faiss"}
OTHER_TRANSPORTS = {"mcp.client.sse", "mcp.client.streamable_http", "mcp.client.websocket"}


def imported(but: Collection[Path]) -> set[str]:
    """Every module, and every name of one, that the execution plane imports."""
    found: set[str] = set()
    for path in (path for path in SOURCE.rglob("*.py") if path not in but):
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    assert any(name.startswith("aiohttp") for name in found)
    return found


def uses(libraries: set[str], but: Collection[Path] = ()) -> list[str]:
    return sorted(
        name
        for name in imported(but)
        if any(name == one or name.startswith(one + ".") for one in libraries)
    )


@pytest.mark.proves("004-2.3-module-names")
@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_the_document_is_where_the_document_says(name: str) -> None:
    assert find_spec(f"trunkline.execution.{name}") is not None


@pytest.mark.proves("004-2.2-no-server")
def test_no_server_is_part_of_it() -> None:
    assert uses(SERVERS) == []
    calls = ("start_server(", "create_server(", "TCPServer")
    # The fork server rehearses a turn with a model server of its own, gone before any session. What
    # the fence passes commands through to a list of hosts serves nobody else: it has a password.
    # What tries whether such a fence can be had connects to itself, once.
    but = {"semigraph_rehearsal.py", "proxy.py", "probe.py"}
    paths = [path for path in SOURCE.rglob("*.py") if path.name not in but]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert not [name for name, text in sources.items() if any(call in text for call in calls)]


@pytest.mark.proves("004-2.2-no-database-no-queue")
def test_no_database_and_no_queue_is_part_of_it() -> None:
    # Some programs' own records are databases, and stay where those programs keep them.
    runtimes = SOURCE / "runtimes"
    theirs = {runtimes / "foreign" / "opencode.py", runtimes / "openclaw" / "state.py"}
    assert uses(STORES, but=theirs) == []


@pytest.mark.proves("004-2.2-no-long-term-memory")
def test_nothing_of_long_term_memory_is_part_of_it() -> None:
    assert uses(LONG_TERM) == []


@pytest.mark.proves("004-2.1-mcp-stdio-only")
def test_its_mcp_client_has_no_other_transport() -> None:
    assert uses(OTHER_TRANSPORTS) == []
    assert uses({"mcp"})


@pytest.mark.proves("004-11-figures")
def test_the_limits_are_the_documents() -> None:
    assert limits.HEARTBEAT_INTERVAL_S == 10
    assert limits.REQUEST_TIMEOUT_S == 60
    assert limits.RECONNECT_DELAYS_S == (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0)
    assert limits.SNAPSHOT_INTERVAL_S == 60
    assert limits.CHECKPOINTS_KEPT == 10
    assert limits.COMMAND_TIMEOUT_S == 30
    assert limits.TOOL_CALLS_PER_TURN == 10
    assert limits.MODEL_RETRY_DELAYS_S == (1.0, 2.0, 4.0)
