"""What stands behind every MyAgent connection."""

import asyncio

from trunkline.control.core import Core
from trunkline.control.door.dispatch import MYAGENT
from trunkline.control.door.head import Head
from trunkline.control.errors import Unavailable


class MyAgentHost:
    path = MYAGENT
    is_machines = False

    def __init__(self, core: Core) -> None:
        self._core = core

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        raise Unavailable("not yet")

    def sweep(self) -> None:
        """Nothing is due."""

    def say_goodbye(self) -> None:
        """Nobody is connected."""
