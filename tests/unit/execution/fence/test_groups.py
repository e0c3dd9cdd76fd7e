"""Control groups, on the kernel itself: made, entered, bounded, and removed when nobody is in."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock import Clock
from trunkline.execution.fence import groups, probe, words
from trunkline.execution.fence.groups import EMPTY_S, Groups
from trunkline.execution.fence.machine import Fence
from trunkline.execution.home import Home
from trunkline.execution.session import ipc

pytestmark = pytest.mark.skipif(
    groups.find() is None, reason="no control group was given to this user"
)

ENTERED = "import sys; from trunkline.execution.fence import groups; groups.enter(sys.argv[1])"
FORKS = f"""
import os
{ENTERED}
def refused():
    try:
        os.fork() or os._exit(0)
    except BlockingIOError:
        return True
    return False
print(refused())
"""
STAYS = f"{ENTERED}; print('in', flush=True); sys.stdin.read()"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(clock: Clock) -> Iterator[Groups]:
    found = Groups.below_ours(clock)
    assert found is not None
    yield found
    found.sweep(is_over=True)


@pytest.mark.parametrize(("tasks_max", "printed"), [(1, "True\n"), (2, "False\n")])
def test_the_kernel_refuses_a_process_more_than_a_session_may_have(
    made: Groups, tasks_max: int, printed: str
) -> None:
    folder = made.of("s-1", tasks_max=tasks_max, memory_bytes=0)
    done = subprocess.run(
        [sys.executable, "-c", FORKS, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout == printed


def test_a_session_has_one_group_however_often_it_is_started(made: Groups) -> None:
    first = made.of("s-1", tasks_max=10, memory_bytes=0)
    assert made.of("s-1", tasks_max=20, memory_bytes=0) == first
    assert (Path(first) / "pids.max").read_text() == "20\n"
    assert made.of("s-2", tasks_max=10, memory_bytes=0) != first


def test_a_group_goes_when_its_session_has_no_process_and_none_is_about_to_come(
    made: Groups, clock: Clock
) -> None:
    folder = Path(made.of("s-1", tasks_max=10, memory_bytes=0))
    clock.now = EMPTY_S - 1
    made.sweep()
    assert folder.exists()  # its process may be on its way
    with subprocess.Popen(
        [sys.executable, "-c", STAYS, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        assert groups.tasks(str(folder)) == 1
        clock.now = 10 * EMPTY_S
        made.sweep()
        assert folder.exists()
        process.communicate()
    made.sweep()
    assert not folder.exists()


def test_what_a_killed_daemon_left_is_removed_by_the_next(clock: Clock) -> None:
    def daemon(told: "multiprocessing.connection.Connection") -> None:
        found = Groups.below_ours()
        assert found is not None
        told.send(found.of("s-1", tasks_max=10, memory_bytes=0))
        os._exit(1)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=daemon, args=(theirs,))
    process.start()
    left = Path(ours.recv())
    process.join()
    assert left.exists()
    Groups.below_ours(clock)
    assert not left.exists()


@pytest.mark.skipif(not probe.look().files, reason="no fence here")
def test_a_machine_says_that_processes_are_bounded_and_each_session_is_given_its_group(
    tmp_path: Path, made: Groups
) -> None:
    home = Home(tmp_path / "home")
    home.make()
    found = probe.look()
    bounded = Fence(home, "auto", found, groups=made)
    assert "; processes: bounded" in bounded.told()["words"]
    assert "; processes: watched" in Fence(home, "auto", found).told()["words"]
    for runtime in ("semigraph", "claude-code"):
        start = ipc.Start(session_id=runtime, home=str(home.root), runtime_type=runtime)
        allowed = bounded.profile(start)
        assert allowed is not None
        assert Path(allowed.group).parent == made.folder
        assert "processes: bounded" in allowed.told
    assert "processes: watched" in words.told(found, "auto")
