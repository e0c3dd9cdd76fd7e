"""What groups are made with: the parts of the control plane that any client may use."""

from dataclasses import dataclass

from trunkline.control.clock import Clock
from trunkline.control.groups.records import GroupRecords
from trunkline.control.groups.seats import Seats
from trunkline.control.log.log import Log
from trunkline.control.machines.machines import Machines
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.turns import Turns
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import Tuning


@dataclass(frozen=True, kw_only=True)
class Parts:
    groups: GroupRecords
    seats: Seats
    sessions: Sessions
    machines: Machines
    turns: Turns
    approvals: Approvals
    log: Log
    tasks: Tasks
    clock: Clock
    tuning: Tuning
