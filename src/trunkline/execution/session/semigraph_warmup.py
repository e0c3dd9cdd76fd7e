"""What the fork server does once, so that its sessions share it: plays a session, packs its code.

A session shares the fork server's memory page by page, until it writes to one. Python counts an
object's users inside the object, so a session that only calls a function writes to the page that
holds its code, and gets a copy of that page. One function in thirty is ever called, scattered among
the others; side by side they save each session 2.4 of 15 MiB.
"""

import gc
import importlib
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType

from trunkline.execution.session.semigraph_rehearsal import rehearse

# Of the objects that Python packs together into pages; there are 16 and 32 too.
_SIZES = range(48, 513, 16)
_EMPTY = sys.getsizeof(b"")
_BYTES_EACH = 256 * 1024  # `sys._debugmallocstats` shows gaps of up to 160 KiB
_TIMES = 10  # Python has rewritten by then what it will
_kept: list[object] = []


def warm_up() -> None:
    """Before the first fork. Not to be called inside an event loop."""
    importlib.import_module("trunkline.execution.mcp.client")  # loaded only where it is needed
    rehearse(model="claude-rehearsal")  # the SDKs load most of their parts when first used
    rehearse()  # what only the first session runs is not worth moving
    chosen = code_run_by(rehearse)
    _kept.extend((chosen, _gaps_filled(), move_together(chosen)))
    rehearse(_TIMES)
    _kept.append(_gaps_filled())


def _gaps_filled() -> list[object]:
    """Fills the gaps between objects that stay. A session's own objects then get pages of their
    own; in the gaps, each of them would make a copy of the page around it."""
    gc.collect()
    objects = [object() for _ in range(_BYTES_EACH // 16)]
    floats = [float(number) for number in range(_BYTES_EACH // 32)]
    larger = [bytes(size - _EMPTY) for size in _SIZES for _ in range(_BYTES_EACH // size)]
    return [objects, floats, larger]


def code_run_by(play: Callable[[], None]) -> set[CodeType]:
    """The code of every function that is called meanwhile, in threads that begin meanwhile too."""
    seen = set[CodeType]()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        play()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def move_together(chosen: set[CodeType]) -> list[CodeType]:
    """Gives each function with such code a copy of it, made one after the other.

    Returns the old ones, to be kept: new objects would go where they were. The copies have not run
    yet, so what Python rewrites in code that runs is to be rewritten again. Functions that
    `gc.freeze` has hidden are not found.
    """
    copies: dict[CodeType, CodeType] = {}

    def copied(code: CodeType) -> CodeType:
        if code not in copies:
            # Functions inside this one are made from its constants.
            copies[code] = code.replace(co_consts=tuple(map(moved, code.co_consts)))
        return copies[code]

    def moved(constant: object) -> object:
        if isinstance(constant, CodeType) and constant in chosen:
            return copied(constant)
        return constant

    for one in gc.get_objects():
        # Not `isinstance`: objects that stand in for others load those when asked.
        if type(one) is FunctionType and one.__code__ in chosen:
            one.__code__ = copied(one.__code__)
    return list(copies)
