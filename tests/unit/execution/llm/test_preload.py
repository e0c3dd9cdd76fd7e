"""What a fork server does once, so that no session has to."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]

CHECK = """
import asyncio, sys, threading
from tests.support.models import MODELS, Session, reply_of
from tests.support.model_server import ModelServer, Turn, running_in_thread
from trunkline.execution.llm.preload import preload

preload()
assert threading.active_count() == 1, threading.enumerate()
assert "xllamacpp" not in sys.modules

async def ask(server):
    async with Session(server) as session:
        for model in MODELS.values():
            assert reply_of(await session.ask(model)).text == "Hello"

with running_in_thread(ModelServer()) as server:
    server.otherwise(lambda request: Turn(text="Hello"))
    before = set(sys.modules)
    asyncio.run(ask(server))
print(sorted(set(sys.modules) - before))
"""

LIGHT = """
import sys
import trunkline.execution.llm.local_server
heavy = {"openai", "anthropic", "langgraph", "httpx2", "xllamacpp", "mcp"} & set(sys.modules)
print(sorted(heavy))
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_after_preloading_a_first_call_imports_nothing_and_no_thread_is_left() -> None:
    assert run(CHECK) == "[]"


def test_the_daemons_side_of_the_local_model_imports_nothing_heavy() -> None:
    assert run(LIGHT) == "[]"
