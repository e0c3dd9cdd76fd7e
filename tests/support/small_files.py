"""No file may grow beyond a size: what a full disk does to a writer, short writes too, on any
system and without root. For the whole process: what it logs meanwhile is kept from its own file."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from structlog.testing import capture_logs


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with capture_logs():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
