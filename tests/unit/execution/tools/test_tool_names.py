"""The names of built-in tools: the list that agents are checked against is the tools themselves."""

from collections.abc import Iterator

from trunkline import names
from trunkline.execution.tools import asking, toolbox
from trunkline.execution.tools.base import Tool


def kinds(base: type[Tool]) -> Iterator[type[Tool]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_built_in_tool_is_known_by_its_name() -> None:
    ours = {asking.__package__, toolbox.CodeExecution.__module__.rpartition(".")[0]}
    found = [kind for kind in kinds(Tool) if kind.__module__.rpartition(".")[0] in ours]
    assert {kind.name for kind in found if "name" in vars(kind)} == names.TOOLS
