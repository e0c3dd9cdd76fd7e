"""What stands in for the servers of others that the pages name: on this computer, in the real
formats. The models do what the demo understands, with their tools."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.foreign_servers import AgpServer, YeaftServer
from tests.support.model_server import (
    Failure,
    ModelRequest,
    ModelServer,
    ToolUse,
    Turn,
    running_in_thread,
)
from trunkline.execution.llm.demo_provider import wishes

_MODEL_SERVERS = (
    "http://127.0.0.1:11434",
    "http://gpu-host:8000",
    "http://litellm:4000",
    "https://api.groq.com/openai",
)
_MODELS = {
    "qwen3",
    "Qwen/Qwen3-32B",
    "anthropic/claude-sonnet-5-5",
    "llama-3.3-70b-versatile",
    "gpt-5.4-mini",
}
"""As their servers know them: another name is refused."""
_SECRET = "desk-1-secret"


@contextmanager
def standing_in() -> Iterator[dict[str, str]]:
    """Where they are, by where the pages say that they are."""
    models, agp, yeaft = ModelServer(), AgpServer(_SECRET), YeaftServer(_SECRET)
    models.otherwise(_answer)
    with running_in_thread(models), running_in_thread(agp), running_in_thread(yeaft):
        yield dict.fromkeys(_MODEL_SERVERS, models.url) | {
            "wss://agp.example/": agp.url,
            "wss://yeaft.example/": yeaft.url,
        }


def _answer(request: ModelRequest) -> Turn:
    if request.model not in _MODELS:
        return Turn(failure=Failure(kind="model_not_found"))
    wanted = [] if request.tool_results else wishes(request.prompt)
    calls = [
        ToolUse(name=one.tool, arguments=one.arguments)
        for one in wanted
        if one.tool in request.tool_names
    ]
    return Turn(tool_calls=calls) if calls else Turn(text="Done.")
