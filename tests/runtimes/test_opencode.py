"""opencode keeps what every runtime promises."""

import pytest

from tests.runtimes.ending import Ending
from tests.runtimes.lasting import Lasting
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.runtimes.acp import OpenCode

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow, pytest.mark.programs]

RUNTIME = OpenCode()


class TestOpenCode(Talking, Working, Ending, Lasting):
    """The shared suite."""
