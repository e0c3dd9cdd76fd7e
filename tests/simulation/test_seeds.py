"""Five thousand seeds hold: this half and `test_more_seeds.py`, side by side; `make simulate`
runs more."""

from tests.simulation.runner import command, first_failure


def test_every_invariant_holds_in_2500_runs() -> None:
    found = first_failure(0, 2_500)
    assert found is None, command(*found)
