"""The data folder of a control plane as its first start leaves it: keys, and tables without rows.

Making those takes longer than most tests, so it is done once in a process of tests, by a real first
start of the core, and copied from then on.
"""

import asyncio
import atexit
import functools
import shutil
import tempfile
import threading
from pathlib import Path

from trunkline.control.core import Core
from trunkline.control.settings import Settings


def copy_to(data: Path) -> None:
    """Nothing happens to a folder that is there already."""
    if not data.exists():
        shutil.copytree(_template(), data)


@functools.cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fresh-data-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = folder / "data"
    # In a thread, because the caller's own loop is running.
    thread = threading.Thread(target=asyncio.run, args=(_make(data),))
    thread.start()
    thread.join()
    return data


async def _make(data: Path) -> None:
    core = await Core.open(Settings(data=str(data)), "the-token-of-nobody")
    await core.close()
