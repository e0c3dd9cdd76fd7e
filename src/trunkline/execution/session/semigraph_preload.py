"""What a session loads only when it needs it, loaded beforehand: imported by the fork server, once
for all sessions. Nothing else may import this."""

from trunkline.execution.llm.preload import preload
from trunkline.execution.mcp import client as client

preload()
