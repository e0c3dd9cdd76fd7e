"""Ten thousand seeds hold: this half and `test_more_seeds.py`, side by side; `make simulate` runs
more."""

from tests.simulation.runner import command, first_failure


def test_every_invariant_holds_in_5000_runs() -> None:
    found = first_failure(0, 5_000)
    assert found is None, command(*found)
