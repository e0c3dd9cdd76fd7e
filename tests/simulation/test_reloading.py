"""The states of machines, devices and agents are values: saved, loaded and gone on from at random
moments, a run is the same."""

from tests.simulation.runner import replay


def test_a_run_whose_states_are_saved_and_loaded_on_the_way_is_the_same() -> None:
    for seed in range(200):
        assert replay(seed, is_reloading=True) == replay(seed), f"seed {seed}"
