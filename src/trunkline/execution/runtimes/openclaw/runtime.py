"""The OpenClaw runtime of one machine, put together: its gateway, and the bridges of sessions.

`main` names its adapters as a runtime, answers its bridges' requests with `local`, and ends it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from trunkline.execution.fence.profile import Profile
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.process import family
from trunkline.execution.process.child import Child, Failure
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.openclaw import guard
from trunkline.execution.runtimes.openclaw.adapter import OpenClawAdapter
from trunkline.execution.runtimes.openclaw.bridge import BridgeProcess
from trunkline.execution.runtimes.openclaw.gateway import Gateway
from trunkline.execution.runtimes.openclaw.gateway_process import with_node
from trunkline.execution.runtimes.openclaw.judging import judged
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience
from trunkline.execution.session.process_requests import Local


class OpenClaw:
    def __init__(
        self,
        home: Home,
        sockets: SocketFolder,
        patience: Patience,
        *,
        env: Mapping[str, str],
        routes_env: Mapping[str, str],
        fence: Profile | None = None,
        gateway: Gateway | None = None,
        node: str | None = None,
    ) -> None:
        """`env`: what its programs get, without anybody's secrets. `routes_env`: may name base
        URLs of models. `fence`: what the gateway may do, for all sessions."""
        self._home = home
        self._sockets = sockets
        self._patience = patience
        self._env = env
        self._node = node or programs.node()
        self._bridges: set[Child] = set()
        self._starting = 0
        self.gateway = gateway or Gateway(
            home,
            program=lambda: programs.locate("openclaw", home, env),
            node=self._node or "",
            env=env if fence is None else {**env, guard.FENCE: msgspec.json.encode(fence).decode()},
            routes_env=routes_env,
        )

    @property
    def local(self) -> dict[str, Local]:
        """What bridges ask of this machine."""
        return {
            "local.openclaw_gateway": self.gateway.ensure,
            "local.openclaw_end": self.gateway.ended,
            "local.openclaw_judge": judged,
        }

    def adapter(
        self,
        folder: Path,
        on_message: Callable[[ipc.Up], None],
        on_ended: Callable[[Failure], None],
    ) -> OpenClawAdapter:
        return OpenClawAdapter(
            self.gateway,
            self._start_bridge,
            self._home.skills,
            with_node(self._env, self._node or ""),
            self._sockets,
            self._patience,
            folder,
            on_message,
            on_ended,
        )

    def rekey(self, api_keys: dict[str, str], llm_config: Json) -> None:
        self.gateway.rekey(api_keys, llm_config)

    def own(self) -> set[int]:
        """Children of the daemon that are ours. While one is being started, its number is not
        known yet: then all are."""
        if self._starting:
            return family.children()
        self._bridges = {one for one in self._bridges if not one.ended.done()}
        pids = {one.pid for one in self._bridges}
        return pids | ({self.gateway.pid} if self.gateway.pid is not None else set())

    async def stop(self) -> None:
        await self.gateway.stop()

    async def _start_bridge(self, added: Mapping[str, str], folder: Path) -> Child:
        self._starting += 1
        try:
            started = await BridgeProcess.start(self._node, {**self._env, **added}, folder)
            self._bridges.add(started)
        finally:
            self._starting -= 1
        return started
