"""Pieces of output: the first at once, the next together, and not without end."""

import asyncio

from tests.support.eventually import until
from trunkline.execution.tools.commands import (
    PROGRESS_CHARS_MAX,
    PROGRESS_PIECE_CHARS_MAX,
    OutputProgress,
)


async def test_the_first_piece_is_shown_at_once_and_the_next_ones_together() -> None:
    shown: list[str] = []
    progress = OutputProgress(shown.append, interval_s=0.05)
    progress.add("a")
    assert shown == ["a"]
    progress.add("b")
    progress.add("c")
    assert shown == ["a"]
    await until(lambda: shown, lambda pieces: pieces == ["a", "bc"])
    progress.close()
    assert shown == ["a", "bc"]


async def test_closing_shows_what_still_waits_and_stops_the_beat() -> None:
    shown: list[str] = []
    progress = OutputProgress(shown.append, interval_s=3600)
    progress.add("a")
    progress.add("b")
    progress.close()
    assert shown == ["a", "b"]


async def test_one_piece_is_bounded() -> None:
    shown: list[str] = []
    OutputProgress(shown.append).add("x" * 1_000_000)
    assert len(shown[0]) < PROGRESS_PIECE_CHARS_MAX + 100
    assert "characters left out" in shown[0]


async def test_all_pieces_together_are_bounded_and_the_last_says_that_there_is_more() -> None:
    shown: list[str] = []
    progress = OutputProgress(shown.append, interval_s=0)
    for _ in range(1000):
        progress.add("x" * PROGRESS_PIECE_CHARS_MAX)
        await asyncio.sleep(0)
    progress.close()
    assert len("".join(shown)) < PROGRESS_CHARS_MAX + 2 * PROGRESS_PIECE_CHARS_MAX
    assert "more output is in the result" in shown[-1]
