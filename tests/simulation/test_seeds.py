"""Ten thousand seeds hold: this half and `test_more_seeds.py`, side by side; `make simulate` runs
more."""

import pytest

from tests.simulation.runner import command, first_failure


@pytest.mark.parametrize("first", range(0, 5_000, 1_000))
def test_every_invariant_holds_in_1000_runs(first: int) -> None:
    found = first_failure(first, first + 1_000)
    assert found is None, command(*found)
