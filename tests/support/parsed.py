"""Python's own syntax trees, read so that nothing comes in between."""

import ast
import gc


def parsed(text: str, name: str = "<text>") -> ast.Module:
    """While nothing is collected: a finalizer that shows a traceback parses too, and Python 3.11
    counts the depth of both in one place and gives up (cpython issue 106905)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text, name)
    finally:
        if was_on:
            gc.enable()
