"""Which line a machine has, and what an agent is where no control plane says it: by settings."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.errors import SettingsError
from trunkline.execution.files import read_head
from trunkline.execution.home import Home
from trunkline.execution.joining import Membership
from trunkline.execution.json_object import Json
from trunkline.execution.line import MachineLine
from trunkline.execution.orchestrator.settings import read_settings
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.settings import NodeSettings
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.foreign.agp import AgpClient
from trunkline.execution.ws.foreign.yeaft import YeaftClient
from trunkline.execution.ws.foreign.yeaft_handshake import Introduction
from trunkline.execution.ws.outbox import Outbox

WIRE_AGENT_FILE_BYTES_MAX = 1 * limits.MIB


_CAREFUL = "dangerous"
"""Whoever can write to a foreign server can write to its agents."""


def line_of(
    settings: NodeSettings, home: Home, library: Library, on_refused: Callable[[str], None]
) -> MachineLine:
    """Raises SettingsError. `library`: conversations of other programs here. `on_refused`: a
    foreign server does not want this machine."""
    if settings.wire == "semibot":
        return ControlPlaneClient(
            settings.control_plane_url,
            settings.user_id,
            settings.ticket,
            settings.token,
            outbox=Outbox(home.outbox),
            credentials=None if settings.joined is None else Membership(home, settings.joined),
        )
    agent_config = agent_of(settings)
    if settings.wire == "agp":
        return AgpClient(
            settings.control_plane_url,
            guid=settings.machine_id,
            user_id=settings.user_id,
            token=settings.token,
            agent_config=agent_config,
            folder=home.internal / "agp",
            on_refused=on_refused,
        )
    introduction = Introduction(
        id=settings.machine_id,
        name=settings.name or settings.machine_id,
        secret=settings.token,
        work_dir=str(home.workspace),
    )
    return YeaftClient(
        settings.control_plane_url,
        introduction,
        agent_config=agent_config,
        home=home,
        library=library,
        on_refused=on_refused,
    )


def agent_of(settings: NodeSettings) -> Json:
    """The agent of every session here: the file's, with what the flags say. Raises
    SettingsError."""
    config: Json = {"confirm": _CAREFUL}
    if settings.agent_file is not None:
        config |= _checked(settings.agent_file)
    given = {"model": settings.model, "confirm": settings.confirm}
    return config | {name: value for name, value in given.items() if value}


def _checked(path: Path) -> Json:
    """A session takes the default for what it cannot read, which for tools is to ask nobody."""
    given = {name: value for name, value in _read(path).items() if value is not None}
    _, problems = read_settings(given, {})
    if problems:
        raise SettingsError(f"the agent's file {path}: {'; '.join(problems)}")
    return given


def _read(path: Path) -> Json:
    try:
        data, is_whole = read_head(path, WIRE_AGENT_FILE_BYTES_MAX, follows_links=True)
        if not data or not is_whole:
            raise SettingsError(f"the agent's file is missing, empty or too large: {path}")
        if path.suffix == ".toml":
            return tomllib.loads(data.decode())
        return msgspec.json.decode(data, type=Json)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise SettingsError(f"the agent's file {path} cannot be read: {error}") from error
