"""The names of built-in tools: the list that agents are checked against is the tools themselves."""

import importlib

from trunkline import names
from trunkline.execution.tools.base import Tool

MODULES = (
    *(f"tools.{name}" for name in ("asking", "commands", "files", "memory", "skill_file")),
    *(f"tools.{name}" for name in ("access", "background", "finding", "todos", "writing")),
    *("tools.web_fetch", "tools.web_search", "skills.code_executor"),
)


def test_every_built_in_tool_is_known_by_its_name() -> None:
    found = set()
    for module in MODULES:
        for made in vars(importlib.import_module(f"trunkline.execution.{module}")).values():
            if isinstance(made, type) and issubclass(made, Tool) and "name" in vars(made):
                found.add(made.name)
    assert found == names.TOOLS
