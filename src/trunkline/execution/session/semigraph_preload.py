"""What a session loads only when it needs it, loaded beforehand: imported by the fork server, once
for all sessions. Nothing else may import this.

A session shares the fork server's memory page by page, until it writes to one.
"""

import gc
import sys

from trunkline.execution.mcp import client as client
from trunkline.execution.session.semigraph_warmup import code_run_by, move_together, rehearse

# Of the objects that Python packs together into pages; there are 16 and 32 too.
_SIZES = range(48, 513, 16)
_EMPTY = sys.getsizeof(b"")
_BYTES_EACH = 256 * 1024  # `sys._debugmallocstats` shows gaps of up to 160 KiB
_TIMES = 10  # Python has rewritten by then what it will


def _gaps_filled() -> list[object]:
    """Fills the gaps between objects that stay. A session's own objects then get pages of their
    own; in the gaps, each of them would make a copy of the page around it."""
    gc.collect()
    objects = [object() for _ in range(_BYTES_EACH // 16)]
    floats = [float(number) for number in range(_BYTES_EACH // 32)]
    larger = [bytes(size - _EMPTY) for size in _SIZES for _ in range(_BYTES_EACH // size)]
    return [objects, floats, larger]


rehearse(model="claude-rehearsal")  # the SDKs load most of their parts when first used
rehearse()  # what only the first session runs is not worth moving
_chosen = code_run_by(rehearse)
_kept = [_gaps_filled(), move_together(_chosen)]
rehearse(_TIMES)
_kept.append(_gaps_filled())
