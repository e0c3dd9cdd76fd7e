"""The simulation bites: each deliberate fault is found."""

import re

import pytest

from tests.simulation import faults, faults_of_room
from tests.simulation.runner import first_failure

FAULTS = faults.FAULTS | faults_of_room.FAULTS
_SEEDS_MAX = 10_000
_SINCE = {
    "a turn that begins anew does not get what was said to it": 6_650,
    "a closed session counts as stopped before its machine was told": 850,
    "what was said to a turn that ended without it is forgotten": 1_270,
    "a machine that lists nothing is told once that a session was moved away": 480,
    "a start that went into a broken line is believed to have arrived": 840,
    "a full outbox drops what a turn has taken": 660,
}
"""Where the search begins for those that would take long to be found."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    found = first_failure(_SINCE.get(name, 0), _SEEDS_MAX, FAULTS[name]())
    assert found is not None
    assert not re.search("AttributeError|TypeError", found[1]), found  # it is no fault then


def test_there_are_at_least_twenty_of_them() -> None:
    assert len(FAULTS) >= 20
