"""How much room the disk of the data folder has, and what the database takes."""

import asyncio
import shutil

import msgspec
from sqlalchemy import func, select

from trunkline.control.files import log_file, records_file
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store

LOW_FIX = "make room, or keep less: docs/operate/running.md, Retention"


class DiskRoom(msgspec.Struct, kw_only=True, frozen=True):
    """Of the file system that holds the data folder. `low_bytes`: what should be free at least (the
    setting `low_disk_bytes`). `database_bytes`: what records and logs take, wherever they are; of
    PostgreSQL no more is known here than that."""

    free_bytes: int = 0
    total_bytes: int = 0
    low_bytes: int = 0
    is_low: bool = False
    database_bytes: int | None = None


def room_of(settings: Settings) -> DiskRoom:
    """As it is now; of the data folder, or the one in which it will be."""
    folder = settings.data_dir
    known = next(path for path in (folder, *folder.parents) if path.exists())
    disk, low = shutil.disk_usage(known), settings.low_disk_bytes
    files = [one for one in (records_file(settings), log_file(settings)) if one is not None]
    every = [one.with_name(one.name + end) for one in files for end in ("", "-wal")]
    return DiskRoom(
        free_bytes=disk.free,
        total_bytes=disk.total,
        low_bytes=low,
        is_low=disk.free < low,
        database_bytes=sum(one.stat().st_size for one in every if one.exists()) if files else None,
    )


class DiskWatch:
    """Looks once a minute, and whenever somebody asks."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self.last = DiskRoom()

    async def look(self) -> DiskRoom:
        room = await asyncio.to_thread(room_of, self._settings)
        if not self._store.is_sqlite:
            size = await self._store.scalar(select(func.pg_database_size(func.current_database())))
            room = msgspec.structs.replace(room, database_bytes=size)
        self.last = room
        return room
