"""What groups are made with: the parts of the control plane that any client may use."""

from dataclasses import dataclass

from trunkline.control.approvals import Approvals
from trunkline.control.clock import Clock
from trunkline.control.groups.records import GroupRecords
from trunkline.control.groups.seats import Seats
from trunkline.control.lifecycle import Lifecycle
from trunkline.control.log import Log
from trunkline.control.machines import Machines
from trunkline.control.recovery import Recovery
from trunkline.control.sessions import Sessions
from trunkline.control.tasks import Tasks
from trunkline.control.turns import Turns


@dataclass(frozen=True, kw_only=True)
class Parts:
    groups: GroupRecords
    seats: Seats
    sessions: Sessions
    machines: Machines
    lifecycle: Lifecycle
    recovery: Recovery
    turns: Turns
    approvals: Approvals
    log: Log
    tasks: Tasks
    clock: Clock
    cancel_grace_s: float
