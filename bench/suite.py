"""The order of a run: rounds of all scenarios, in each all sides one after the other.

Sides are interleaved within a scenario and take turns in going first, so that a slow minute of
the machine hits all of them. A side that fails loses that number, not the run.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench import checkpoints, crowd, scenarios
from bench.generator.client import GeneratorClient, GeneratorError
from bench.memories.scenario import memories
from bench.node.fence import fence
from bench.node.runtimes import runtimes
from bench.node.scenario import node
from bench.page.scenario import page
from bench.passing_sessions import passing_sessions
from bench.processes import StartError
from bench.results import Results
from bench.scenarios import Sizes
from bench.sides.base import CrowdSide, Side, close_all, stop
from bench.sides.crowd import OnPostgres
from bench.sides.passthrough import Passthrough
from bench.sides.rest import RestError
from bench.sides.trunkline import DaemonPath, Trunkline
from bench.startup import startup
from bench.stored.commits import commits
from bench.stored.disk import disk
from bench.stored.journal_start import journal_start
from bench.stored.last_page import last_page

Scenario = Callable[[Side, GeneratorClient, Sizes, Results], None]
CrowdScenario = Callable[[CrowdSide, GeneratorClient, Sizes, Results], None]
AnySide = TypeVar("AnySide", bound=Side)
Say = Callable[[str], None]

ROUND_SCENARIOS: dict[str, Scenario] = {
    "relay": scenarios.relay,
    "wires": scenarios.wires,
    "fanout": scenarios.fanout,
    "latency": scenarios.latency,
    "replay": scenarios.replay,
}
# On sides of their own, one server at a time.
CROWD_SCENARIOS: dict[str, CrowdScenario] = {
    "crowd": crowd.crowd,
    "crowd-latency": crowd.crowd_latency,
    "herd": crowd.herd,
}
IDLE_SCENARIOS: dict[str, Scenario] = {
    "idle-lines": scenarios.idle_lines,
    "idle-readers": scenarios.idle_readers,
    "passing-sessions": passing_sessions,
    "last-page": last_page,
}
# What needs no generator and no peer server.
LOCAL_SCENARIOS: dict[str, checkpoints.Scenario] = {
    "checkpoints": checkpoints.checkpoints,
    "node": node,
    "fence": fence,
    "runtimes": runtimes,
    "memories": memories,
    "page": page,
    "startup": startup,
    "disk": disk,
    "commits": commits,
    "journal-start": journal_start,
}
FAILURES = (GeneratorError, RestError, StartError, OSError)


class Suite:
    """One run over some sides and scenarios."""

    def __init__(
        self,
        sides: list[Side],
        crowd_sides: list[CrowdSide],
        wanted: set[str],
        sizes: Sizes,
        say: Say,
    ) -> None:
        self._sides = sides
        self._crowd_sides = crowd_sides
        self._wanted = wanted
        self._sizes = sizes
        self._say = say
        self.results = Results(idle_connections=sizes.idle_connections)

    def run(self) -> Results:
        for name, scenario in LOCAL_SCENARIOS.items():
            if name in self._wanted:
                self._locally(name, scenario)
        if self._wanted.intersection([*ROUND_SCENARIOS, *CROWD_SCENARIOS, *IDLE_SCENARIOS]):
            with GeneratorClient() as generator:
                self._with_servers(generator)
        return self.results

    def _locally(self, name: str, scenario: checkpoints.Scenario) -> None:
        for number in range(self._sizes.rounds):
            self._say(f"round {number + 1}/{self._sizes.rounds} {name}")
            self.results.failures += scenario(number, self.results)

    def _with_servers(self, generator: GeneratorClient) -> None:
        for number in range(self._sizes.rounds):
            self._round(generator, number)
        for number in range(self._sizes.rounds):
            self._crowd_round(generator, number)
        for name, scenario in IDLE_SCENARIOS.items():
            if name in self._wanted:
                self._weigh(generator, name, scenario)

    def _round(self, generator: GeneratorClient, number: int) -> None:
        chosen = {name: run for name, run in ROUND_SCENARIOS.items() if name in self._wanted}
        if not chosen or not self._sides:
            return
        first = number % len(self._sides)
        order = self._sides[first:] + self._sides[:first]
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            try:
                ready = [side for side in order if self._start(side, Path(folder), generator)]
                for name, scenario in chosen.items():
                    for side in ready:
                        self._say(f"round {number + 1}/{self._sizes.rounds} {name}: {side.name}")
                        self._measure(side, generator, name, scenario)
            finally:
                for side in order:
                    stop(side)

    def _crowd_round(self, generator: GeneratorClient, number: int) -> None:
        chosen = {name: run for name, run in CROWD_SCENARIOS.items() if name in self._wanted}
        if not chosen or not self._crowd_sides:
            return
        first = number % len(self._crowd_sides)
        for side in self._crowd_sides[first:] + self._crowd_sides[:first]:
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                try:
                    if not self._start(side, Path(folder), generator):
                        continue
                    for name, scenario in chosen.items():
                        self._say(f"round {number + 1}/{self._sizes.rounds} {name}: {side.name}")
                        self._measure(side, generator, name, scenario)
                finally:
                    stop(side)
                    if isinstance(side, OnPostgres):
                        side.stop_database()

    def _weigh(self, generator: GeneratorClient, name: str, scenario: Scenario) -> None:
        """Memory needs a fresh server per side and no rounds: it does not vary."""
        for side in self._sides:
            if isinstance(side, Passthrough | DaemonPath):
                continue
            if scenario in (passing_sessions, last_page) and not isinstance(side, Trunkline):
                continue
            self._say(f"{name}: {side.name}")
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                try:
                    if self._start(side, Path(folder), generator):
                        self._measure(side, generator, name, scenario)
                finally:
                    stop(side)

    def _start(self, side: Side, folder: Path, generator: GeneratorClient) -> bool:
        own = folder / side.name.replace(", ", "-")
        own.mkdir()
        try:
            side.start(own)
            if not isinstance(side, Passthrough):
                scenarios.verify(side, generator)
        except FAILURES as error:
            self._failed(side, generator, "start", error)
            return False
        return True

    def _measure(
        self,
        side: AnySide,
        generator: GeneratorClient,
        name: str,
        scenario: Callable[[AnySide, GeneratorClient, Sizes, Results], None],
    ) -> None:
        try:
            scenario(side, generator, self._sizes, self.results)
        except FAILURES as error:
            self._failed(side, generator, name, error)

    def _failed(self, side: Side, generator: GeneratorClient, name: str, error: Exception) -> None:
        self.results.failures.append(f"{name}, {side.name}: {error}")
        self._say(f"FAILED {name}, {side.name}: {error}")
        close_all(generator)
