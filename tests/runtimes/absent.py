"""What is promised of every runtime, and what one of them cannot keep, with the page's words."""

from enum import StrEnum
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "runtimes.md"


class Promise(StrEnum):
    """The columns of the page's table, in its words."""

    STREAM = "streams"
    TOOL = "tools are shown"
    APPROVAL = "asks before a tool"
    ALWAYS = "asks once for always"
    CANCEL_TEXT = "cancel in text"
    CANCEL_TOOL = "cancel in a tool"
    ERROR = "failures are told"
    CRASH = "goes on after a crash"
    STOP = "leaves nothing behind"
    SNAPSHOT = "state can be moved"
    RESTART = "goes on after a restart"
    TWO = "two at once"
    MIXED = "beside other runtimes"
    CONFIG = "new settings while it runs"
    IMAGE = "images in"
    USAGE = "usage is told"


ABSENT: dict[tuple[str, Promise], str] = {
    ("Gemini", Promise.TOOL): "calls are, what they printed is not told",
}
"""By a runtime's name in the page, the reason, which stands there."""
