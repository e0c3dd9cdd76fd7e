"""The code that sessions run, moved together.

Python counts an object's users inside the object, so a session that only calls a function already
writes to the page that holds its code, and gets a copy of that page. One function in thirty is ever
called, and those lie scattered among the others; side by side they save each session 2 MiB.
Only `semigraph_preload` may call this.
"""

import gc
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType


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
