"""What a conversation of a Yeaft server runs with here: the provider and the folder that it was
created with, as a runtime and a workspace of this machine.

A session's folder remembers what it was started with, so that it goes on as it began.
"""

from collections.abc import Callable
from typing import Any

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc
from trunkline.execution.session.saved import load_start
from trunkline.wire.events import keep
from trunkline.wire.yeaft.providers import choice_of, offered

_KEPT = ("acp",)
"""What a choice has put into an agent's configuration."""


class Choices:
    """`agent_config` is that of every session here; `health` says what this machine can run."""

    def __init__(self, home: Home, agent_config: Json, health: Callable[[], Json]) -> None:
        self._home = home
        self._agent_config = agent_config
        self._health = health
        self._chosen: dict[str, Json] = {}
        self._folders: dict[str, str] = {}

    def providers(self) -> list[str]:
        """Those that a conversation may be created with."""
        told = self._health()
        runtimes = told.get("runtimes")
        known = runtimes if isinstance(runtimes, list) else []
        return offered(known, told.get("runtime_details"))

    def choose(self, session_id: str, provider: Any, folder: Any) -> None:
        """A provider that means nothing here is no choice, nor is a folder without one: servers
        name some in any case. Whether the folder is allowed is found out at the start."""
        told = self._health()
        choice = choice_of(provider, told.get("runtimes"), told.get("runtime_details"))
        chosen: Json = {}
        if choice is not None:
            chosen |= {"runtime_type": choice.runtime_type, "agent_config": choice.agent_config}
            if isinstance(folder, str) and folder:
                chosen["session_config"] = {"workspace": folder}
        keep(self._chosen, session_id, chosen, limits.WIRE_SESSIONS_KNOWN_MAX)
        self._folders.pop(session_id, None)

    def start_of(self, session_id: str) -> Json:
        """What `start_session` says of it."""
        chosen = self._chosen.get(session_id)
        if chosen is None:
            chosen = _as_begun(self.begun(session_id))
        config = {**self._agent_config, **chosen.get("agent_config", {})}
        return {**chosen, "agent_config": config}

    def begun(self, session_id: str) -> ipc.Start | None:
        """How it was started when it last was."""
        try:
            return load_start(self._home.session(session_id))
        except ValueError:
            return None

    def folder(self, session_id: str) -> str:
        """Where it works. Asked often: it is looked up once."""
        found = self._folders.get(session_id)
        if found is None:
            begun = self.begun(session_id)
            found = (begun.workspace if begun is not None else "") or str(self._home.workspace)
            if begun is not None:
                keep(self._folders, session_id, found, limits.WIRE_SESSIONS_KNOWN_MAX)
        return found


def _as_begun(begun: ipc.Start | None) -> Json:
    if begun is None:
        return {}
    config = {name: begun.agent_config[name] for name in _KEPT if name in begun.agent_config}
    return {
        "runtime_type": begun.runtime_type,
        "agent_config": config,
        "session_config": {"workspace": begun.workspace},
    }
