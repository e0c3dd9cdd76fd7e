"""Times as people write them: a span (`90d`), or a moment (`7d` ago, `2026-11-18`). Pure."""

import re
from datetime import datetime

from trunkline.cli.output import CommandFailed

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_SPAN = re.compile(r"([1-9]\d{0,8})([smhd])")
_MS = re.compile(r"\d{11,15}")  # since 1973; a shorter number is a slip


def seconds(text: str) -> int:
    """`90d`, `12h`, `30m` or `45s`."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise CommandFailed(f"{text!r} is no time: say 90d, 12h, 30m or 45s")
    return int(found[1]) * _UNITS_S[found[2]]


def moment_ms(text: str | None, now_ms: int) -> int | None:
    """Unix time in ms of a moment: so long ago, a day or a time of this computer's clock, or that
    number itself."""
    if text is None:
        return None
    if _MS.fullmatch(text):
        return int(text)
    if _SPAN.fullmatch(text):
        return max(0, now_ms - seconds(text) * 1000)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise CommandFailed(
            f"{text!r} is no moment: say 7d or 12h (ago), 2026-11-18 or 2026-11-18T09:00"
        ) from error
