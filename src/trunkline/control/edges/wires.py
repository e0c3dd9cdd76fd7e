"""The wires beside Semibot's: which edge serves which path."""

import asyncio
from typing import Protocol

from trunkline.control.core import Core
from trunkline.control.door.head import Head
from trunkline.control.edges.agp.host import AgpHost
from trunkline.control.edges.myagent.host import MyAgentHost
from trunkline.control.edges.yeaft_agent.host import YeaftAgentHost
from trunkline.control.edges.yeaft_web.host import YeaftWebHost


class Wire(Protocol):
    """Everything that the connections of one kind share."""

    path: str
    """As `door.dispatch` names it."""
    is_machines: bool
    """Whether machines connect here, or clients."""

    def accept(self, transport: asyncio.Transport, head: Head) -> None: ...

    def sweep(self) -> None:
        """Once a second: what is due by the clock."""

    def say_goodbye(self) -> None:
        """The control plane goes down: every connection is closed with 1001."""


def wires_of(core: Core) -> list[Wire]:
    return [MyAgentHost(core), YeaftWebHost(core), YeaftAgentHost(core), AgpHost(core)]
