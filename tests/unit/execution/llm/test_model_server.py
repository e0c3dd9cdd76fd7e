"""The scripted server itself, where it does not run in the test's own loop."""

import asyncio
import json
import sys
from pathlib import Path

from tests.support.model_server import ModelServer, Turn, running_in_thread
from tests.support.models import Session, reply_of

ROOT = Path(__file__).parents[4]


async def test_it_serves_from_a_thread() -> None:
    with running_in_thread(ModelServer()) as server:
        server.script(Turn(text="from a thread"))
        async with Session(server) as session:
            assert reply_of(await session.ask("gpt-4o")).text == "from a thread"


async def test_it_serves_from_a_process_of_its_own() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.support.model_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    script = [{"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]}, {"text": "done"}]
    process.stdin.write(json.dumps(script).encode() + b"\n")
    urls = json.loads(await process.stdout.readline())
    config = {"providers": {"openai": {"base_url": urls["openai_url"]}}}
    async with Session(config=config) as session:
        for _ in range(2):
            [made] = reply_of(await session.ask("gpt-4o")).tool_calls
            assert made["arguments"] == {"command": "ls"}
    process.stdin.close()
    assert await process.wait() == 0
