"""Where the machines that this control plane starts have their homes: beside its data, not in it.

What an agent writes is then never below the folder with the database and the keys. A home that an
earlier version made in the data folder is used where it is: programs keep full paths in it.
"""

import os
from pathlib import Path

from trunkline.control.settings import Settings

OLD = "vms"
"""In the data folder."""


def home(settings: Settings, machine_id: str) -> Path:
    """Of one machine, as a full path; nothing is made."""
    old = (settings.data_dir / OLD / machine_id).absolute()
    if old.is_dir() or not _can_be_beside(settings):
        return old
    return (settings.machines_dir / machine_id).absolute()


def _can_be_beside(settings: Settings) -> bool:
    """A service may have no place but its data folder."""
    folder = settings.machines_dir.absolute()
    return bool(settings.machines) or folder.is_dir() or os.access(folder.parent, os.W_OK)


def homes(settings: Settings) -> list[Path]:
    """Those that are there."""
    places = (settings.data_dir / OLD, settings.machines_dir)
    return [one.absolute() for place in places for one in sorted(place.glob("*")) if one.is_dir()]
