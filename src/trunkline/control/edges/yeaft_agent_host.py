"""What stands behind every Yeaft agent's line."""

import asyncio

from trunkline.control.core import Core
from trunkline.control.door.dispatch import YEAFT_AGENT
from trunkline.control.door.head import Head
from trunkline.control.errors import Unavailable


class YeaftAgentHost:
    path = YEAFT_AGENT
    is_machines = True

    def __init__(self, core: Core) -> None:
        self._core = core

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        raise Unavailable("not yet")

    def sweep(self) -> None:
        """Nothing is due."""

    def say_goodbye(self) -> None:
        """Nobody is connected."""
