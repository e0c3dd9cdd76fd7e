"""What a person types while an answer runs: lines of the terminal, taken as they come."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_READ_BYTES = 64 * 1024


@contextmanager
def typed(take: Callable[[str], None]) -> Iterator[None]:
    """Each line that is typed meanwhile goes to `take`. Without a terminal nothing happens."""
    if not sys.stdin.isatty():
        yield
        return
    loop, handle, begun = asyncio.get_running_loop(), sys.stdin.fileno(), b""

    def read() -> None:
        nonlocal begun
        data = os.read(handle, _READ_BYTES)
        if not data:  # Ctrl-D
            loop.remove_reader(handle)
        *lines, begun = (begun + data).split(b"\n")
        for line in lines:
            if text := line.decode(errors="replace").strip():
                take(text)

    loop.add_reader(handle, read)
    try:
        yield
    finally:
        loop.remove_reader(handle)
