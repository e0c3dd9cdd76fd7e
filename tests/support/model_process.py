"""The scripted model server as a program of its own, for tests and benchmarks of whole systems.

    python -m tests.support.model_process < script.json

The first line of its input is a JSON list of turns (fields of Turn), answered again and again in
this order, by conversation; its first line of output is {"openai_url", "anthropic_url"}. It ends
when its input does.
"""

import asyncio
import json
import sys
from typing import Any

from tests.support.model_server import ModelRequest, ModelServer, ToolUse, Turn


def turn_from(fields: dict[str, Any]) -> Turn:
    calls = [ToolUse(**call) for call in fields.pop("tool_calls", [])]
    return Turn(**fields, tool_calls=calls)


def answers_so_far(request: ModelRequest) -> int:
    """Which answer of its conversation this request asks for."""
    return sum(message["role"] == "assistant" for message in request.messages)


async def main() -> None:
    turns = [turn_from(fields) for fields in json.loads(sys.stdin.readline())]
    async with ModelServer() as server:
        server.otherwise(lambda request: turns[answers_so_far(request) % len(turns)])
        urls = {"openai_url": server.openai_url, "anthropic_url": server.anthropic_url}
        print(json.dumps(urls), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
