"""SemiGraph keeps what every runtime promises."""

import pytest

from tests.runtimes.ending import Ending
from tests.runtimes.lasting import Lasting
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.runtimes.semigraph import SemiGraph

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

RUNTIME = SemiGraph()


class TestSemiGraph(Talking, Working, Ending, Lasting):
    """The shared suite."""
