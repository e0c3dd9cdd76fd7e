"""The daemon as a process: against a real control plane, killed in every way there is."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import pids
from tests.support.control import TestUser, running
from tests.support.eventually import eventually, until
from tests.support.proxy import CuttableProxy
from tests.support.scripted_node import SECRETS, ScriptedNode
from tests.support.sse import SseReader

pytestmark = pytest.mark.slow

BOUND_S = 60
Json = dict[str, Any]
ENDS = ("execution_complete", "execution_error")


@pytest.fixture
async def user(tmp_path: Path) -> AsyncIterator[TestUser]:
    async with running(tmp_path / "data") as control:
        made = await control.user()
        await made.ok(
            "PUT", f"/users/{made.id}/credentials/anthropic", {"api_key": "key-from-init"}
        )
        yield made


@pytest.fixture
async def node(user: TestUser, tmp_path: Path) -> AsyncIterator[ScriptedNode]:
    async with ScriptedNode.running(user, tmp_path / "home") as made:
        yield made


async def end_of(reader: SseReader, turn_id: str) -> Json:
    def ends() -> list[Json]:
        events = [one.json for one in reader.events if one.id is not None]
        return [one for one in events if one["type"] in ENDS and one.get("turn_id") == turn_id]

    await reader.until(lambda _: bool(ends()), "the end of the turn")
    [end] = ends()
    return end


async def ask(user: TestUser, session_id: str, message: str) -> Json:
    async with user.reader(session_id) as reader:
        return await end_of(reader, await user.say(session_id, message))


async def who(user: TestUser, session_id: str) -> Json:
    about: Json = json.loads((await ask(user, session_id, "who"))["content"])
    return about


async def with_orphans(user: TestUser, node: ScriptedNode, folder: Path) -> tuple[str, list[int]]:
    """A session in the middle of a turn, and every process below the daemon by then."""
    session_id = await user.session(machine_id=node.machine_id)
    await user.say(session_id, f"orphans {folder / session_id}")
    left = await pids.pids_in(folder / session_id, 3)
    below = pids.below(node.process.pid)
    assert below >= set(left)
    return session_id, sorted(below)


@pytest.mark.proves(
    "004-4.10-health-openclaw",
    "004-5-connects-and-serves",
    "004-5-environment",
    "004-4.5-events-and-reports",
)
async def test_a_session_answers_and_the_machine_says_how_it_is(
    user: TestUser, node: ScriptedNode
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id = await user.session(machine_id=node.machine_id)
        assert (await ask(user, session_id, "hello"))["content"] == "hello"

        async def health() -> Json:
            machine = await user.ok("GET", f"/machines/{node.machine_id}")
            found: Json = machine.get("health") or machine.get("degradation") or {}
            return found

        seen = await eventually(health, lambda found: "openclaw_available" in found)
        assert seen["openclaw_available"] is False
        assert seen["openclaw_reason"]
        assert seen["sessions"]["max"] == 20


async def test_a_home_that_cannot_be_written_does_not_cost_the_line(
    user: TestUser, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".semibot" / "config.json").mkdir(parents=True)  # as good as a full disk
    async with asyncio.timeout(BOUND_S), ScriptedNode.running(user, tmp_path / "home") as node:
        session_id = await user.session(machine_id=node.machine_id)
        assert (await ask(user, session_id, "hello"))["content"] == "hello"
        assert "config.json cannot be written" in node.log


@pytest.mark.proves(
    "000-9-api-keys-in-memory-only",
    "004-9-keys-in-memory-only",
    "004-9-keys-of-init",
    "004-6-config-json",
)
async def test_keys_and_credentials_reach_no_child_file_or_log(
    user: TestUser, node: ScriptedNode
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id = await user.session(machine_id=node.machine_id)
        about = await who(user, session_id)
        keys = {"openai": SECRETS["OPENAI_API_KEY"], "anthropic": "key-from-init"}
        assert about["keys"] == keys
        secrets = {*keys.values(), *SECRETS.values(), *node.credentials}
        children = pids.below(node.process.pid)
        assert {about["pid"], about["parent"]} <= children
        for pid in children:
            shown = pids.environment(pid) + pids.command_line(pid)
            assert not [one for one in secrets if one in shown]
        assert not [one for one in secrets if one in node.log]
        files = [path for path in (node.home / ".semibot").rglob("*") if path.is_file()]
        outbox = [path for path in files if "outbox" in path.parts]
        for path in set(files) - set(outbox):  # the session itself said its keys, as an event
            text = path.read_text(errors="replace")
            assert not [one for one in secrets if one in text]
        config = json.loads((node.home / ".semibot" / "config.json").read_text())
        assert config["user_id"] == user.id


@pytest.mark.proves("004-5-runs-until-stopped")
async def test_sigterm_saves_and_ends_everything(
    user: TestUser, node: ScriptedNode, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id, below = await with_orphans(user, node, tmp_path)
        turn_id = await user.say(session_id, "hang")
        async with user.reader(session_id) as reader:
            await reader.until(
                lambda _: any('"hanging"' in one.data for one in reader.events), "hanging"
            )
            assert await node.stop() == 0
            await pids.until_gone(*below)
            assert (await end_of(reader, turn_id))["code"] == "MACHINE_RESTARTED"
        assert list((node.home / ".semibot" / "run").glob("*.sock")) == []


async def test_no_orphan_survives_a_daemon_that_is_killed(
    user: TestUser, node: ScriptedNode, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        _, below = await with_orphans(user, node, tmp_path)
        await node.kill()
        await pids.until_gone(*below)


async def test_a_daemon_that_was_killed_ends_its_turns_when_it_is_back(
    user: TestUser, node: ScriptedNode, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id = await user.session(machine_id=node.machine_id)
        async with user.reader(session_id) as reader:
            turn_id = await user.say(session_id, "wait")
            await reader.until(
                lambda _: any('"waiting"' in one.data for one in reader.events), "waiting"
            )
            await node.kill()
            await node.start()
            assert (await end_of(reader, turn_id))["code"] == "MACHINE_RESTARTED"
            again = await user.say(session_id, "hello again")
            assert (await end_of(reader, again))["content"] == "hello again"


async def test_a_question_survives_a_daemon_that_is_killed(
    user: TestUser, node: ScriptedNode
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id = await user.session(machine_id=node.machine_id)
        async with user.reader(session_id) as reader:
            turn_id = await user.say(session_id, "ask")
            await reader.until(
                lambda _: any("approval_request" in one.data for one in reader.events), "question"
            )
            await node.kill()
            await node.start()

            async def answered() -> int:
                body = {"confirmed": True, "session_id": session_id}
                status, _ = await user.call("POST", "/approvals/r-1", body)
                return status

            await eventually(answered, lambda status: status < 300)
            assert (await end_of(reader, turn_id))["content"] == "confirmed: True"


async def test_no_orphan_survives_a_fork_server_that_is_killed_and_sessions_go_on(
    user: TestUser, node: ScriptedNode, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id, below = await with_orphans(user, node, tmp_path)
        async with user.reader(session_id) as reader:
            os.kill(await node.fork_server(), signal.SIGKILL)
            await pids.until_gone(*below)
            await reader.until(
                lambda _: any("SESSION_CRASHED" in one.data for one in reader.events), "the end"
            )
        assert (await ask(user, session_id, "hello"))["content"] == "hello"
        assert node.process.returncode is None


@pytest.mark.parametrize(
    ("command", "code"),
    [("crash 7", "SESSION_CRASHED"), ("kill", "SESSION_CRASHED"), ("hang", "SESSION_HUNG")],
)
@pytest.mark.proves("004-4.10-crash-is-the-sessions-own", "004-4.10-exit-is-reported")
async def test_the_end_of_one_process_is_an_error_of_that_session_alone(
    user: TestUser, node: ScriptedNode, command: str, code: str
) -> None:
    async with asyncio.timeout(BOUND_S):
        one, other = [await user.session(machine_id=node.machine_id) for _ in range(2)]
        before = await who(user, other)
        end = await ask(user, one, command)
        assert (end["type"], end["code"]) == ("execution_error", code)
        assert end.get("exit_code") == 7 or end["signal"] == "SIGKILL"
        assert (await who(user, other))["pid"] == before["pid"]
        assert (await ask(user, one, "hello"))["content"] == "hello"


async def test_while_the_line_is_cut_a_session_goes_on_and_its_reader_learns_of_it_later(
    user: TestUser, tmp_path: Path
) -> None:
    port = int(user.ws_url.rsplit(":", 1)[1].split("/")[0])
    async with (
        asyncio.timeout(BOUND_S),
        CuttableProxy(port) as proxy,
        ScriptedNode.running(user, tmp_path / "home", f"ws://127.0.0.1:{proxy.port}/ws/vm") as node,
    ):
        session_id = await user.session(machine_id=node.machine_id)
        async with user.reader(session_id) as reader:
            turn_id = await user.say(session_id, f"later {tmp_path / 'now'}")
            await reader.until(
                lambda _: any('"until' in one.data for one in reader.events), "the turn to run"
            )
            proxy.cut()
            await until(lambda: "no line to the control plane" in node.log)
            (tmp_path / "now").touch()  # the turn ends while nobody can be told
            proxy.mend()
            assert (await end_of(reader, turn_id))["content"] == "it is now"
            events = [one.json for one in reader.events if one.id is not None]
            told = [one for one in events if "works" in one]
            assert [one["machine"] for one in told][:1] == ["degraded"]
            assert "models" in told[0]["works"]
            assert "remote_mcp" in told[0]["degraded"]


@pytest.mark.proves("004-4.10-no-fallback", "004-5-runtime-type-unknown")
async def test_a_runtime_that_is_not_here_is_refused_with_what_is_there(
    user: TestUser, node: ScriptedNode
) -> None:
    async with asyncio.timeout(BOUND_S):

        async def refusal() -> dict[str, Any]:
            """A machine that has not said yet what it has refuses by itself, later."""
            body = {"machine_id": node.machine_id, "runtime_type": "openclaw"}
            status, answer = await user.call("POST", "/sessions", body)
            return answer["error"] if status == 409 else {}

        error = await eventually(refusal)
        assert error["code"] == "RUNTIME_UNSUPPORTED"
        assert "semigraph" in error["message"]
        assert "doctor --install openclaw" in error["message"]


async def test_a_second_daemon_in_the_same_home_is_refused(
    user: TestUser, node: ScriptedNode
) -> None:
    async with asyncio.timeout(BOUND_S):
        other = ScriptedNode(user, node.home)
        await other.launch()
        try:
            assert await other.process.wait() != 0
        finally:
            await other.stop()
        assert "another daemon runs with the home" in other.log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_its_start_ends_it(tmp_path: Path, number: int) -> None:
    """While it tries what the fence can do, in a fork of its own: an exception there is lost."""
    env = {
        "PATH": os.environ["PATH"],
        "VM_USER_ID": "user_1",
        "VM_TOKEN": "tl_token",
        "CONTROL_PLANE_WS": "ws://127.0.0.1:1/ws",
        "TRUNKLINE_NODE_HOME": str(tmp_path / "home"),
    }
    starting = (
        "import os, sys\n"
        "from trunkline.execution.main import main\n"
        f"os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), {number:d}))\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", starting],
        env=env,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "KeyboardInterrupt" not in done.stderr


def test_the_daemon_imports_nothing_heavy() -> None:
    code = (
        "import sys, trunkline.execution.main;"
        "print([name for name in ('langgraph', 'langchain_core', 'openai', 'anthropic', 'mcp',"
        " 'trafilatura', 'numpy', 'httpx2', 'xllamacpp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "USER_ID is not set"),
        ({"USER_ID": "u", "CONTROL_PLANE_WS": "ws://localhost"}, "VM_TOKEN is not set"),
        ({"USER_ID": "u", "VM_TOKEN": "secret", "CONTROL_PLANE_WS": "ftp://x"}, "must be like"),
    ],
)
@pytest.mark.proves("004-5-environment-missing")
def test_a_start_without_its_settings_says_which_one(env: dict[str, str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trunkline.execution.main"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert "secret" not in done.stderr
