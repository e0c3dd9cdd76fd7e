"""Every wire: which edge serves which path."""

import asyncio
from typing import Protocol

from trunkline.control.core import Core
from trunkline.control.door.head import Head
from trunkline.control.edges.agp.host import AgpHost
from trunkline.control.edges.myagent.host import MyAgentHost
from trunkline.control.edges.semibot.host import VmHost
from trunkline.control.edges.yeaft_agent.host import YeaftAgentHost
from trunkline.control.edges.yeaft_web.host import YeaftWebHost


class Edge(Protocol):
    """Everything that the connections of one kind share."""

    is_machines: bool
    """Whether machines connect here, or clients."""

    def accept(self, transport: asyncio.Transport, head: Head) -> None: ...

    def sweep(self) -> None:
        """Once a second: what is due by the clock."""

    def say_goodbye(self) -> None:
        """The control plane goes down: every connection is closed with 1001."""


class Wire(Edge, Protocol):
    """An edge of WebSockets."""

    path: str
    """As `door.head.wire_of` names it."""


def wires_of(core: Core) -> list[Wire]:
    return [
        VmHost(core),
        MyAgentHost(core),
        YeaftWebHost(core),
        YeaftAgentHost(core),
        AgpHost(core),
    ]
