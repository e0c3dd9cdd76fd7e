"""While a backup is made or unpacked, people are told what is done, and how much of how much."""

from pathlib import Path

from tests.unit.control.backup.conftest import MADE_AT
from trunkline.control.backup import making, restoring
from trunkline.control.settings import Settings


class Heard:
    """What was told, and of each the last count: done, and of how much."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.counts: dict[str, tuple[int, int]] = {}

    def tell(self, what: str) -> None:
        self.steps.append(what)

    def at(self, done: int, total: int = 0) -> None:
        assert 0 <= done <= total
        self.counts[self.steps[-1]] = (done, total)


def test_each_database_is_named_and_counted_to_its_end(system: Settings, tmp_path: Path) -> None:
    heard = Heard()
    making.make(system, tmp_path / "b.tar", now_ms=MADE_AT, progress=heard)
    copying = [one for one in heard.steps if one.startswith("copying ")]
    assert heard.steps == [copying[0], "writing b.tar", copying[1], "writing b.tar"]
    for one in copying:
        done, total = heard.counts[one]
        assert done == total > 0
    assert heard.counts["writing b.tar"][0] > 0


def test_a_restore_counts_what_it_unpacks(saved: Path, tmp_path: Path) -> None:
    heard = Heard()
    settings = Settings(data=str(tmp_path / "new"))
    restoring.restore(settings, saved, now_ms=MADE_AT, progress=heard)
    assert heard.steps == ["unpacking", "checking"]
    done, total = heard.counts["unpacking"]
    assert done == total > 0
