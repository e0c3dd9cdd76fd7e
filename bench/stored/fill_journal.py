"""Fills the journal of a log's store as far as its bound allows, folds nothing, and is killed.

Run by `journal_start.py` as a process of its own: what it leaves is what a server leaves that was
killed at the worst moment. The one argument is the data folder.
"""

import asyncio
import os
import signal
import sys

import msgspec

from bench import budgets
from bench.commands import EVENT_HEAD, EVENT_TAIL, TOKEN
from trunkline.control.clock import now_ms
from trunkline.control.core import open_segments
from trunkline.control.ids import new_id
from trunkline.control.log.store import Segment
from trunkline.control.settings import Settings
from trunkline.control.tuning import DEFAULT

_NEVER_S = 1e6
_EVENT = f"{EVENT_HEAD}{TOKEN}{EVENT_TAIL}"


async def fill(data: str) -> None:
    tuning = msgspec.structs.replace(
        DEFAULT, fold_bytes=2**60, fold_quiet_s=_NEVER_S, fold_age_s=_NEVER_S
    )
    store = await open_segments(Settings(data=data), tuning)
    ids = [new_id() for _ in range(budgets.CROWD_LINES)]
    size = 0
    for event_id in range(1, sys.maxsize):
        at = now_ms()
        segments = [Segment(one, event_id, [_EVENT], _EVENT, at, None) for one in ids]
        # What its row takes in memory, which is what the bound is about.
        rows = [(one, event_id, at, None, _EVENT, ()) for one in ids]
        size += len(msgspec.msgpack.encode(rows))
        if size > DEFAULT.journal_bytes_max:
            break
        await store.append(segments)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1]))
