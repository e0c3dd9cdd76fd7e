"""How a session gets a fence from its machine: for its process, or for one wider command."""

from pathlib import Path
from typing import Protocol

from trunkline.execution.errors import RequestFailed
from trunkline.execution.fence.access import Access
from trunkline.execution.fence.profile import Profile
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.session.grants import Wider


class MakeProfile(Protocol):
    def __call__(self, start: ipc.Start, access: Access | None = None, /) -> Profile | None:
        """As `Fence.profile`."""


def no_fence(_start: ipc.Start, _access: Access | None = None) -> Profile | None:
    return None


def wider(fence: MakeProfile, config: ipc.Start, access: Access) -> Wider:
    """Raises RequestFailed, StartFailed."""
    profile = fence(config, access)
    if profile is None or profile.kind != "session":
        raise RequestFailed("NO_FENCE", "this session has no fence: its commands may do all that")
    work = Home(Path(config.home)).workspace_of(config.workspace)
    return Wider(profile, str(work), list(config.api_keys.values()))
