"""What happens seldom and concerns many. Made before everybody who tells or is told, so that parts
can be built in any order; nobody hangs anything onto another part."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.control.watchers import Watchers

if TYPE_CHECKING:
    from trunkline.control.machines.machine import Machine
    from trunkline.control.sessions.projection import Step
    from trunkline.control.sessions.records import Session
    from trunkline.control.sessions.titles import Titled


class Signals:
    """Who wants to know takes what it needs in its constructor, and so does who tells."""

    def __init__(self) -> None:
        self.commits: Watchers[float] = Watchers()
        """How long each commit of the log took."""
        self.stalls: Watchers[str | None] = Watchers()
        """Why the log is not written any more, and None when it goes on."""
        self.machines: Watchers[Machine] = Watchers()
        """It came, went, failed, or said something new of itself."""
        self.records: Watchers[Sequence[Step]] = Watchers()
        """The steps that the records have caught up with."""
        self.sessions: Watchers[str] = Watchers()
        """By their ids: new ones, and those that are different by what a person did."""
        self.titles: Watchers[Titled] = Watchers()
        """The sessions that are called something else now."""
        self.erased: Watchers[Session] = Watchers()
        """Removed for good."""
        self.revoked: Watchers[str] = Watchers()
        """The ids of tokens that have ended: their connections do, too."""
        self.keys: Watchers[str] = Watchers()
        """The ids of users whose provider keys changed."""
