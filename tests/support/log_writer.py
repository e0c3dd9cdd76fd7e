"""A process that writes a log and folds it all the time, to be killed: `python -m … FILE`, or the
address of a PostgreSQL database.

Says on its output how many commits are made. Each commit is the next event of every session."""

import asyncio
import sys
from pathlib import Path

from trunkline.control.log.journal import Journal
from trunkline.control.log.postgres_segments import PostgresSegments
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import NoteRow, Segment
from trunkline.control.tuning import Tuning

SESSIONS = [f"session-{number:02}" for number in range(70)]  # three slices of a fold
TUNING = Tuning(fold_bytes=30_000, journal_bytes_max=90_000, fold_quiet_s=0.001)


def said(session_id: str, number: int) -> Segment:
    line = f'{{"n":{number},"of":"{session_id}"}}'
    return Segment(
        session_id, number, [line], line, number, number, [NoteRow(number, number, f"n{number}")]
    )


async def opened(place: str) -> Journal:
    if "://" in place:
        return await PostgresSegments.open(place, tuning=TUNING)
    return await SqliteSegments.open(Path(place), tuning=TUNING)


async def write(place: str) -> None:
    store = await opened(place)
    head = (await store.heads(SESSIONS[:1])).get(SESSIONS[0])
    number = 0 if head is None else head.last_id
    while True:
        number += 1
        await store.append([said(one, number) for one in SESSIONS])
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
