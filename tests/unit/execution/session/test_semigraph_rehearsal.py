"""What the fork server does once, so that no session has to."""

import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from trunkline.execution.session.semigraph_rehearsal import rehearse

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]

FIRST_TURN = """
import asyncio, sys, tempfile, threading
from pathlib import Path
from tests.support.model_server import ModelServer, ToolUse, Turn, running_in_thread
from tests.support.models import MODELS
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.process import fork_server

fork_server.load(fork_server.DEFAULT_TARGET)
assert threading.active_count() == 1, threading.enumerate()
assert "xllamacpp" not in sys.modules

async def ask(server, folder, model):
    async with Daemon(folder, server) as daemon:
        (daemon.home.workspace / "a.txt").write_text("a")
        await daemon.start(agent_config={"model": model})
        end = await daemon.ask("read it")
        assert end["content"] == "Done", end
        assert daemon.of_type("tool_call_complete")[0]["is_error"] is False

with running_in_thread(ModelServer()) as server, tempfile.TemporaryDirectory() as folder:
    call = ToolUse(name="read_file", arguments={"path": "a.txt"})
    server.script(*[Turn(tool_calls=[call]), Turn(text="Done")] * len(MODELS))
    before = set(sys.modules)
    for model in MODELS.values():
        asyncio.run(ask(server, Path(folder) / model, model))
print(sorted(set(sys.modules) - before))
"""


def test_after_preloading_a_first_turn_imports_nothing_whichever_the_provider() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TURN], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_a_rehearsal_goes_well_and_leaves_no_file_behind(tmp_path: Path) -> None:
    with capture_logs() as logs:
        rehearse(parent=tmp_path)
    assert logs == []
    assert list(tmp_path.iterdir()) == []


def test_a_machine_on_which_nothing_can_be_rehearsed_still_runs_sessions(tmp_path: Path) -> None:
    with capture_logs() as logs:
        rehearse(parent=tmp_path / "missing")
    assert [entry["event"] for entry in logs] == ["no rehearsal"]
