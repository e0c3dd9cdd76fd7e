"""The simulation bites: each deliberate fault is found."""

import pytest

from tests.simulation.faults import FAULTS
from tests.simulation.runner import first_failure

_SEEDS_MAX = 10_000


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    assert first_failure(0, _SEEDS_MAX, FAULTS[name]()) is not None


def test_there_are_at_least_twenty_of_them() -> None:
    assert len(FAULTS) >= 20
