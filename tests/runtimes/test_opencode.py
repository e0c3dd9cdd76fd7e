"""opencode keeps what every runtime promises. How turns and processes end is the ACP client's doing,
and Copilot's suite has shown that."""

import pytest

from tests.runtimes.lasting import Lasting
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.runtimes.acp import OpenCode

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow, pytest.mark.programs]

RUNTIME = OpenCode()


class TestOpenCode(Talking, Working, Lasting):
    """The shared suite."""
