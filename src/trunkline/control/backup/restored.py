"""That the system in a data folder was restored, until its next start has dealt with it.

Some of what machines and readers know happened after the backup, and here it did not. So ids go on
far ahead, where nobody has been; and turns that were open then are ended, because nobody here knows
what became of them. Done before anybody is let in; killed in between, it is done again, which
changes nothing but numbers.
"""

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from trunkline.control.errors import Unavailable
from trunkline.private_files import sync, write_private

FILE = "restored.json"
RESTORED = "RESTORED"
"""The code with which turns end that were open in the backup."""
RESTORE_GAP = 2**30
"""More events than a session has between a backup and its restore; ids stay far below 2**53."""


class Restored(msgspec.Struct, frozen=True):
    """Times in Unix ms; `made_at`: of the backup, where that is known."""

    restored_at: int
    made_at: int | None = None

    @property
    def why(self) -> str:
        """For whoever waits for the end of a turn."""
        of = ""
        if self.made_at is not None:
            of = f" of {datetime.fromtimestamp(self.made_at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
        return (
            f"the control plane was restored from a backup{of}, and what became of this turn since"
            " is not known: say it again if nothing was done"
        )


def write(folder: Path, restored: Restored) -> None:
    write_private(folder / FILE, msgspec.json.encode(restored))


def read(folder: Path) -> Restored | None:
    """None where nothing was restored since the last start."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Restored)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise Unavailable(f"{folder / FILE} cannot be read: {error}") from error


def remove(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)
    sync(folder)
