"""A program of the daemon: runs one command in the fence that it is told, and says how it ended.

`python -m trunkline.execution.fence.launcher` reads an `Order` and prints a `Report`.
Told to end (SIGTERM), it ends the command first, with all that it left behind.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import inside
from trunkline.execution.fence.profile import Profile
from trunkline.execution.process import family
from trunkline.execution.process.programs import Finished, children, run_process
from trunkline.execution.texts import Excerpt


class Order(msgspec.Struct, kw_only=True):
    """`parent`: the daemon, with which it ends."""

    parent: int
    profile: Profile
    argv: list[str]
    cwd: str
    timeout_s: float


class Report(msgspec.Struct, kw_only=True):
    """`problem`: why it was not run at all."""

    output: str = ""
    cut_chars: int = 0
    finished: Finished | None = None
    problem: str = ""


async def _run(order: Order) -> Report:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    family.end_with(order.parent)
    output = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    try:
        finished = await run_process(
            order.argv,
            cwd=Path(order.cwd),
            env=os.environ,
            timeout_s=order.timeout_s,
            take=output.add,
        )
    except OSError as error:
        return Report(problem=f"{order.argv[0]} cannot be started: {error.strerror or error}")
    finally:
        await children.end_all_adopted()
    return Report(output=str(output), cut_chars=output.cut_chars, finished=finished)


def main() -> int:
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    family.adopt_orphans()
    try:
        children.confined = inside.enter(order.profile)
        report = asyncio.run(_run(order))
    except StartFailed as error:
        report = Report(problem=str(error))
    except asyncio.CancelledError:
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(report))
    sys.stdout.buffer.flush()
    # Not by way of the threads that connect for the command: one may wait for an address that never
    # answers, and whoever started us waits for our end.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
