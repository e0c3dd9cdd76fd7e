"""Times as people write them."""

from datetime import datetime

import pytest

from trunkline.cli.moments import moment_ms, seconds
from trunkline.cli.output import CommandFailed

NOW_MS = 1_795_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("7d", NOW_MS - 7 * 86_400_000),
        ("30m", NOW_MS - 1_800_000),
        ("999999999d", 0),
        ("1795012011067", 1795012011067),
        ("2026-11-18", int(datetime(2026, 11, 18).timestamp() * 1000)),
        ("2026-11-18T09:00:00+00:00", 1_794_992_400_000),
    ],
)
def test_a_moment_is_so_long_ago_or_a_day_or_a_number(
    text: str | None, expected: int | None
) -> None:
    assert moment_ms(text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "-7d", "7", "2026-13-01", "9999999999999999999"])
def test_what_is_no_moment_is_refused_with_what_would_be_one(text: str) -> None:
    with pytest.raises(CommandFailed, match="is no moment: say 7d or 12h"):
        moment_ms(text, NOW_MS)


@pytest.mark.parametrize("text", ["", "forever", "90", "0d", "1w", "-1d", "1.5h"])
def test_what_is_no_span_is_refused_with_what_would_be_one(text: str) -> None:
    assert seconds("90d") == 90 * 86_400
    with pytest.raises(CommandFailed, match="is no time: say 90d"):
        seconds(text)
