"""Gemini keeps what every runtime promises."""

import pytest

from tests.runtimes.ending import Ending
from tests.runtimes.lasting import Lasting
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.runtimes.acp import Gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow, pytest.mark.programs]

RUNTIME = Gemini()


class TestGemini(Talking, Working, Ending, Lasting):
    """The shared suite."""
