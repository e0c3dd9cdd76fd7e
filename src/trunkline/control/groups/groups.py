"""All groups and persons: their records, and a line for every group.

The REST API and the server's start call this; client edges talk to a group as to any machine.
"""

from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.groups.coordinator import Coordinator
from trunkline.control.groups.membership import close
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.persons import Persons
from trunkline.control.groups.records import Group, GroupPatch, GroupRecords, NewGroup
from trunkline.control.groups.seats import Seats
from trunkline.control.log.log import Log
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.vms import Vms
from trunkline.control.records.users import Users
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.turns import Turns
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning


class Groups:
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
        self._seats = Seats(store, clock)
        self._vms = vms
        self._parts = Parts(
            groups=self.records,
            seats=self._seats,
            sessions=sessions,
            machines=machines,
            turns=turns,
            approvals=approvals,
            log=log,
            tasks=tasks,
            clock=clock,
            tuning=tuning,
        )

    async def start(self) -> None:
        """After a start of the control plane: every group is there, and goes on with its turns."""
        for group_id in await self.records.all_ids():
            await self._attach(group_id)
        for session_id, user_id, org_id in await self._seats.left_over():
            await close(self._parts, Principal(user_id, org_id, "member"), session_id)

    async def _attach(self, group_id: str) -> None:
        machines = self._parts.machines
        machine = await machines.get(group_id)
        line = Coordinator(self._parts, machine)
        machines.attach(machine, line, fresh=False)
        with machine.input() as core:
            # Of a turn that is open, nobody but the log knows how far it got: it is said again.
            core.resumed([])

    async def create(self, who: Principal, new: NewGroup) -> Group:
        group = await self.records.create(who, new)
        await self._attach(group.id)
        return group

    async def change(self, who: Principal, group_id: str, patch: GroupPatch) -> Group:
        before = await self.records.managed(who, group_id)
        group = await self.records.change(who, group_id, patch)
        kept = {one.id for one in group.persons}
        for person in before.persons:
            if person.id not in kept:
                left = await self._seats.sessions_of(group_id=group_id, person_id=person.id)
                for session_id in left:
                    await close(self._parts, who, session_id)
        return group

    async def remove(self, who: Principal, group_id: str) -> None:
        """Closes the group's conversations; their logs stay readable."""
        await self.records.managed(who, group_id)
        machine = await self._parts.machines.get(group_id)
        for session_id in list(machine.logs):
            await close(self._parts, who, session_id)
        await self._vms.terminate(who, group_id)

    async def remove_person(self, who: Principal, person_id: str) -> None:
        """What the person is doing ends; the groups that it was in go on without it."""
        await self.persons.managed(who, person_id)
        sessions = await self._seats.sessions_of(person_id=person_id)
        await self.persons.remove(person_id)  # first: nobody is to ask it anything more
        for session_id in sessions:
            await close(self._parts, who, session_id)
