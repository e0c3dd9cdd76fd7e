"""What goes for good goes by a yes alone."""

from contextlib import nullcontext

import pytest

from trunkline.cli.output import CommandFailed
from trunkline.cli.sure import make_sure


@pytest.mark.parametrize(
    ("can_ask", "says", "outcome"),
    [
        (True, True, None),
        (True, False, "nothing was done"),
        (False, True, r"Remove 'a\\x1b'\? Nobody can be asked here: say --yes"),
    ],
)
def test_only_a_yes_is_one(can_ask: bool, says: bool, outcome: str | None) -> None:
    expected = pytest.raises(CommandFailed, match=outcome) if outcome else nullcontext()
    with expected:
        make_sure("Remove 'a\x1b'?", lambda: can_ask, lambda _: says)
