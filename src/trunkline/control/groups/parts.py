"""What groups are made with: their records, and the parts of the control plane that any client may
use."""

from trunkline.control.clock import Clock
from trunkline.control.groups.persons import Persons
from trunkline.control.groups.records import GroupRecords
from trunkline.control.groups.seat import Seats
from trunkline.control.log.log import Log
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.vms import Vms
from trunkline.control.records.people import Users
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.turns import Turns
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning


class Parts:
    def __init__(
        self,
        store: Store,
        users: Users,
        sessions: Sessions,
        machines: Machines,
        turns: Turns,
        approvals: Approvals,
        log: Log,
        tasks: Tasks,
        vms: Vms,
        clock: Clock,
        *,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self.persons = Persons(store, users, clock)
        self.records = GroupRecords(store, users, clock)
        self.seats = Seats(store, clock)
        self.sessions = sessions
        self.machines = machines
        self.turns = turns
        self.approvals = approvals
        self.log = log
        self.tasks = tasks
        self.vms = vms
        self.clock = clock
        self.tuning = tuning
