"""The other half; and that one seed decides everything."""

from tests.simulation.runner import command, first_failure, replay


def test_every_invariant_holds_in_5000_more_runs() -> None:
    found = first_failure(5_000, 10_000)
    assert found is None, command(*found)


def test_the_same_seed_runs_the_same_way_twice() -> None:
    assert replay(4) == replay(4)
