"""What is written of the traits of machines."""

import re
from pathlib import Path

from trunkline.control.machines.traits import Traits

PAGE = Path(__file__).parents[4] / "docs/concepts/core.md"


def test_every_trait_is_in_the_table_of_the_core_and_no_other() -> None:
    """Whoever adds a wire chooses among them there."""
    _, section = PAGE.read_text(encoding="utf-8").split("## Machines differ by traits\n")
    table = section.strip().split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(rows) == sorted(Traits.__struct_fields__)
