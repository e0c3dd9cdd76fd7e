"""The scenario `last-page`: the newest events of a long session, as a page asks for them first.

The server is killed and started again in between: what it has in memory by then is nothing.
"""

from statistics import median

from bench.commands import ReplayResult
from bench.generator.client import GeneratorClient
from bench.results import Metric, Results
from bench.scenarios import Sizes
from bench.sides.base import Side, close_all, running
from bench.sides.trunkline import Trunkline


def last_page(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Only Trunkline keeps anything."""
    assert isinstance(side, Trunkline)
    command = side.last_page(generator)
    generator.ask(command, ReplayResult)
    running(side).kill()
    side.launch()
    command.publish, command.times = 0, sizes.replay_times
    result = generator.ask(command, ReplayResult)
    close_all(generator)
    results.add(Metric.LAST_PAGE, side.name, median(result.times_ms))
