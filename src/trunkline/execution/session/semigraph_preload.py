"""What a session loads only when it needs it, loaded beforehand: imported by the fork server, once
for all sessions. Nothing else may import this.

A session shares the fork server's memory page by page, until it writes to one.
"""

import gc
import sys

from trunkline.execution.llm.preload import preload
from trunkline.execution.mcp import client as client
from trunkline.execution.session.semigraph_rehearsal import rehearse

_SIZES = range(48, 513, 16)  # of the objects that Python packs together into pages
_BYTES_EACH = 256 * 1024  # `sys._debugmallocstats` shows gaps of up to 160 KiB


def _gaps_filled() -> list[bytes]:
    """Fills the gaps between objects that stay. A session's own objects then get pages of their
    own; in the gaps, each of them would make a copy of the page around it."""
    gc.collect()
    return [bytes(size - sys.getsizeof(b"")) for size in _SIZES for _ in range(_BYTES_EACH // size)]


preload()
rehearse()
_kept = _gaps_filled()
