"""Puts the bridge to OpenClaw into the wheel. It is TypeScript, built by `make bridge`; a checkout
runs what that left in place, so an editable install carries nothing."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BRIDGE = Path("bridge/openclaw")
PLACE = "trunkline/execution/runtimes/openclaw/bridge"


class BridgeHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        folder = Path(self.root) / BRIDGE
        if not (folder / "dist" / "main.js").is_file():
            raise RuntimeError("OpenClaw's bridge is not built; run: make bridge")
        for file in (*sorted((folder / "dist").glob("*.js")), folder / "package.json"):
            build_data["force_include"][str(file)] = f"{PLACE}/{file.name}"
