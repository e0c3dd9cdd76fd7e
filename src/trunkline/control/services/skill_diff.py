"""What one package of a skill changes against another, as a unified diff. Pure, and slow for large
packages: whoever calls it does so in a thread.
"""

import difflib
from collections.abc import Iterator, Mapping

from trunkline import limits

_CONTEXT_LINES = 3
# difflib takes time that grows with the square of the lines; beyond, the whole file is replaced.
_LINES_MAX = 2_000
DIFF_CHARS_MAX = 2 * limits.SKILL_FILE_BYTES_MAX
_NOWHERE = "/dev/null"

Files = Mapping[str, bytes]


def unified(before: Files, after: Files) -> str:
    """Empty where nothing differs. What is not text is said to differ."""
    written: list[str] = []
    chars = 0
    for path in sorted({*before, *after}):
        for line in _of_file(path, before.get(path), after.get(path)):
            chars += len(line) + 1
            if chars > DIFF_CHARS_MAX:
                return "\n".join([*written, "… the rest is too large to be shown", ""])
            written.append(line)
    return "\n".join([*written, ""]) if written else ""


def _of_file(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before == after:
        return
    old = _NOWHERE if before is None else f"a/{path}"
    new = _NOWHERE if after is None else f"b/{path}"
    old_lines, new_lines = _lines(before or b""), _lines(after or b"")
    if old_lines is None or new_lines is None:
        yield f"Binary files {old} and {new} differ"
    elif not old_lines and not new_lines:  # an empty file came or went: it has no lines
        yield from (f"--- {old}", f"+++ {new}")
    elif max(len(old_lines), len(new_lines)) > _LINES_MAX:
        yield from (f"--- {old}", f"+++ {new}")
        yield f"@@ -{_range(old_lines)} +{_range(new_lines)} @@"
        yield from (f"-{line}" for line in old_lines)
        yield from (f"+{line}" for line in new_lines)
    else:
        yield from difflib.unified_diff(
            old_lines, new_lines, old, new, lineterm="", n=_CONTEXT_LINES
        )


def is_text(content: bytes) -> bool:
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def _lines(content: bytes) -> list[str] | None:
    """None for what is not text."""
    if not is_text(content):
        return None
    lines = content.decode().split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _range(lines: list[str]) -> str:
    return f"{1 if lines else 0},{len(lines)}"
