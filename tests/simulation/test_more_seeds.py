"""The other half; and that one seed decides everything."""

import pytest

from tests.simulation.runner import command, first_failure, replay


@pytest.mark.parametrize("first", range(5_000, 10_000, 1_000))
def test_every_invariant_holds_in_1000_more_runs(first: int) -> None:
    found = first_failure(first, first + 1_000)
    assert found is None, command(*found)


def test_the_same_seed_runs_the_same_way_twice() -> None:
    assert replay(4) == replay(4)
