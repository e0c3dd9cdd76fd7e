"""What a protocol has no words for, and where its page says so."""

from itertools import product
from pathlib import Path

from tests.support.matrix.steps import Client, Machine, Step

PAGES = Path(__file__).parents[3] / "docs" / "protocols"

ABSENT: dict[tuple[Client | Machine, Step], tuple[str, str]] = {
    (Machine.AGP, Step.THINKING): ("agp.md", "AGP has no message for thinking"),
    (Machine.AGP, Step.QUESTION): ("agp.md", "AGP has no questions"),
}
"""The page, and its words for the reason."""


def cells(step: Step) -> list[tuple[Client, Machine]]:
    """Every pair in which the step can exist."""
    return [
        (client, machine)
        for client, machine in product(Client, Machine)
        if (client, step) not in ABSENT and (machine, step) not in ABSENT
    ]
