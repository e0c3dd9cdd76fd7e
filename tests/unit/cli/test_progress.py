"""Long work says how far it is, to people, and leaves nothing behind."""

import io

import pytest

from tests.support.clock import Clock
from trunkline.cli.progress import Progress, silent


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ((0.1, 0.3), []),
        ((0.5,), ["packing … 1.5 MB of 3 MB · 0 s"]),
        ((0.5, 3.0), ["packing … 1.5 MB of 3 MB · 0 s", "packing … 1.5 MB of 3 MB · 3 s"]),
    ],
)
def test_in_a_terminal_one_line_is_drawn_anew_and_taken_away(
    seconds: tuple[float, ...], told: list[str]
) -> None:
    out, clock = io.StringIO(), Clock(100.0)
    progress = Progress("packing", out, is_terminal=True, clock=clock)
    progress.at(1_500_000, 3_000_000)
    for one in seconds:
        clock.now = 100.0 + one
        progress.tick()
    progress.clear()
    assert "\n" not in out.getvalue()
    lines = out.getvalue().split("\r\x1b[2K")
    assert lines == (["", *told, ""] if told else [""])


def test_elsewhere_there_are_a_few_whole_lines_and_none_of_what_is_done_at_once() -> None:
    out, clock = io.StringIO(), Clock(100.0)
    progress = Progress("packing", out, is_terminal=False, clock=clock)
    for tenth in range(250):
        clock.now = 100.0 + tenth / 10
        if tenth == 150:
            progress.tell("sending \x1b[2J")
        progress.tick()
    progress.clear()
    assert out.getvalue().splitlines() == [
        "packing … 2 s",
        "packing … 12 s",
        "sending \\x1b[2J … 22 s",
    ]


def test_with_json_nothing_is_told() -> None:
    out = io.StringIO()
    with silent(True), Progress("packing", out, is_terminal=True):
        pass
    assert out.getvalue() == ""
