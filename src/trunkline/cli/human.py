"""Numbers, times and long texts as a person reads them in a terminal. Text in, text out."""

from datetime import datetime

from rich.cells import cell_len

_STEPS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))
_RECENT_S = 7 * 24 * 3600
_UNITS_S = ((24 * 3600, "day"), (3600, "h"), (60, "min"), (1, "s"))
_WORD_ENDS = " ,;/"
_WORD_SHARE = 0.3
"""A text is cut at a word where at least so much of its place stays filled."""


def count(number: float) -> str:
    """`1234` is `1.2k`."""
    value, unit = _scaled(number)
    return f"{value}{unit}"


def size(number: float) -> str:
    """`3400000` is `3.4 MB`."""
    value, unit = _scaled(number)
    return f"{value} {unit}B"


def _scaled(number: float) -> tuple[str, str]:
    for step, unit in _STEPS:
        # What would be rounded up to a thousand of a unit is one of the next.
        if abs(number) >= step * 0.9995 and abs(number) >= 1000:
            value = number / step
            return (f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}").removesuffix(
                ".0"
            ), unit
    if isinstance(number, int):
        return str(number), ""
    return f"{number:.2f}".rstrip("0").rstrip("."), ""


def money(amount: float, currency: str) -> str:
    """`0.0312` dollars are `$0.03`."""
    before, after = ("$", "") if currency == "USD" else ("", f" {currency}")
    if 0 < amount < 0.005:
        return f"<{before}0.01{after}"
    return f"{before}{amount:.2f}{after}" if amount else f"{before}0{after}"


def duration(seconds: float) -> str:
    """0.8 s, 12 s, 2 min 5 s, 1 h 2 min."""
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def when(at_ms: int, now_ms: int) -> str:
    """`3 min ago` for what is near, else the day."""
    away_s = (now_ms - at_ms) / 1000
    if abs(away_s) >= _RECENT_S:
        return _local(at_ms).strftime("%Y-%m-%d")
    for unit_s, unit in _UNITS_S:
        number = int(abs(away_s) // unit_s)
        if number and (unit_s > 1 or number >= 10):
            many = f"{number} {unit}{'s' if unit == 'day' and number > 1 else ''}"
            return f"{many} ago" if away_s > 0 else f"in {many}"
    return "just now" if away_s >= 0 else "soon"


def clock(at_ms: int) -> str:
    return _local(at_ms).strftime("%Y-%m-%d %H:%M:%S")


def iso(at_ms: int) -> str:
    """With the offset of this place, to the second."""
    return _local(at_ms).isoformat(timespec="seconds")


def _local(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000).astimezone()


def cut(text: str, width: int) -> str:
    """So many cells of it at most, ended at a word and with `…` where it goes on."""
    if cell_len(text) <= width:
        return text
    taken = _first(text, width - 1)
    at = max(map(taken.rfind, _WORD_ENDS))
    if text[len(taken)] not in _WORD_ENDS and at >= len(taken) * _WORD_SHARE:
        taken = taken[:at]
    return f"{taken.rstrip(_WORD_ENDS)}…" if width > 0 else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of so many cells, broken between words. A word that is longer has a line of its own:
    whoever copies it gets it whole. Chinese is broken between any two characters."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and cell_len(line + piece.rstrip(" ")) > width:
            lines.append(line.rstrip(" "))
            line = ""
        line += piece if line else piece.lstrip(" ")
    return [*lines, line.rstrip(" ")]


def _pieces(text: str) -> list[str]:
    """Words with the space after them; wide characters one by one."""
    found: list[str] = []
    for character in text:
        is_end = not found or found[-1].endswith(" ") or _is_wide(found[-1][0])
        if found and (character == " " or not (is_end or _is_wide(character))):
            found[-1] += character
        else:
            found.append(character)
    return found


def _is_wide(character: str) -> bool:
    return cell_len(character) > 1


def _first(text: str, width: int) -> str:
    taken = 0
    for number, character in enumerate(text):
        taken += cell_len(character)
        if taken > width:
            return text[:number]
    return text


def padded(text: str, width: int, *, is_right: bool = False) -> str:
    space = " " * (width - cell_len(text))
    return space + text if is_right else text + space
