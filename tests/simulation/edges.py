"""The control plane's ends of the lines: the real ones of AGP and Yeaft without their sockets, and
what the other wires' edges do, in short."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from trunkline.control.edges.agp.device import AgpDevice
from trunkline.control.edges.agp.records import AgpRecords
from trunkline.control.edges.semibot.numbers import is_new, told_of
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.edges.yeaft_agent.records import YeaftRecords
from trunkline.control.log import events
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.machines.traits import Traits
from trunkline.control.tasks import Tasks
from trunkline.wire.agp.messages import Downlink, PromptResponse, Update
from trunkline.wire.commands import Command, Say, Start
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.messages import ConversationList

if TYPE_CHECKING:
    from tests.simulation.control import Control


class Link:
    """One connection, as both ends see it. `send` is the way down to the machine."""

    def __init__(
        self,
        machine_id: str,
        kind: str,
        *,
        traits: Traits,
        is_fresh: bool,
        send: Callable[["Link", Any], None],
    ) -> None:
        self.machine_id = machine_id
        self.kind = kind
        self.traits = traits
        self.is_fresh = is_fresh
        self.is_open = True
        self.is_live = False
        self.is_paused = False
        self.unread: list[Any] = []
        """What came while it was paused, and waits in the network."""
        self.told: set[str] = set()
        """The turns that reached the machine on it."""
        self.edge: Edge | None = None
        self.down = send


class Edge:
    """What the ends of all lines have in common; and all of it for those whose session runs in
    events of ours."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self, control: "Control", machine: Machine, link: Link) -> None:
        self.machine = machine
        self._control = control
        self._link = link
        self._said: dict[str, str] = {}
        """The turn that each session was last told of on this line."""

    @property
    def traits(self) -> Traits:
        return self._link.traits

    async def attach(self) -> None:
        is_returning = self.machine.core.state.status != "pending"
        self._control.machines.attach(self.machine, self, fresh=self._link.is_fresh)
        acked = {one: log.safe_seq or 0 for one, log in self.machine.logs.items()}
        self._link.down(self._link, ("init", acked))
        if self.traits.rereads:
            with self.machine.input() as core:
                core.resumed([])
        if is_returning and not self._link.is_fresh and self.traits.rules:
            self._control.ruling.returned(self.machine)

    def detached(self) -> None:
        """The line is gone."""

    # Line

    def deliver(self, command: Command) -> None:
        self._control.step()
        if isinstance(command, Say):
            self._check_turn(command)
        self._deliver(command)
        self._control.step()

    def _deliver(self, command: Command) -> None:
        seq = 0
        if isinstance(command, Start) and self.traits.numbers:
            log = self.machine.logs.get(command.session_id)
            seq = (log and log.machine_seq) or 0
        self._link.down(self._link, (command, seq))

    def _check_turn(self, say: Say) -> None:
        """One turn at a time, in the order in which they were said, where it has to be so."""
        before = self._said.get(say.session_id, say.turn_id)
        self._said[say.session_id] = say.turn_id
        if self._link.kind not in ("agp", "yeaft") or before == say.turn_id:
            return
        if not self.machine.core.has_ended(say.session_id, before):
            self._control.problems.append(f"{say.turn_id} is said while {before} is active")

    def acknowledge(self, acked: dict[str, int]) -> None:
        self._control.step()
        self._link.down(self._link, ("ack", acked))

    def pause(self, paused: bool) -> None:
        """The log does not keep up, or does again."""
        self._link.is_paused = paused
        if not paused:
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        link = self._link
        while link.unread and link.is_open and not link.is_paused:
            self._read(link.unread.pop(0))

    def end(self, why: LineEnd) -> None:
        self._link.is_open = False
        self._control.lost(self)

    # What comes up

    def take(self, frame: Any) -> None:
        """A frame has arrived; on a line that is paused it is not read."""
        if self._link.is_paused or self._link.unread:
            self._link.unread.append(frame)
        else:
            self._read(frame)

    def _read(self, frame: Any) -> None:
        if self._control.log.stalled is not None:
            self._control.problems.append(f"{self.machine.id} is read while the log stalls")
        self.receive(frame)

    def receive(self, frame: Any) -> None:
        match frame:
            case ("event", session_id, seq, line):
                self._event(session_id, seq, line)
            case ("resume", turns):
                with self.machine.input() as core:
                    core.resumed(turns)
            case ("list", session_ids):
                self._control.machines.heartbeat(self.machine, session_ids, None)
            case ("answer", query_id, result):
                self._control.queries.answered(self.machine, query_id, result, None)

    def _event(self, session_id: str, seq: int | None, line: str) -> None:
        log = self.machine.logs.get(session_id)
        if log is None:
            return
        if seq is not None and not is_new(log, seq, self._lost):
            return
        if log.is_awaited:
            self.machine.spoke(session_id)
        if events.may_matter(line):
            self._control.machines.watched(self.machine, log, line)
        else:
            self._control.log.append(log, line)

    def _lost(self, log: SessionLog, known: int, seq: int) -> None:
        self._control.log.append(log, told_of(known, seq, self._control.clock()))


class _Records(AgpRecords):
    async def apps(self, machine: Machine) -> dict[str, str]:
        return {}


class AgpEdge(Edge):
    """The real device behind a line without a socket."""

    _device: AgpDevice

    async def attach(self) -> None:
        control, machine = self._control, self.machine
        device = control.devices.get(machine.id)
        if device is None:
            core = cast(Any, control)
            known = Known(machine.id, machine.user_id, machine.id, [])
            device = AgpDevice(core, machine, known, self._refused)
            await _Records(core).fill(machine, device.talk)
        self._device = device = control.devices.setdefault(machine.id, device)
        if self._link.is_open:
            device.line = self
            self._link.down(self._link, ("init", {}))
            control.machines.attach(machine, self, fresh=False)
            device.line_up()

    def _refused(self, kind: str, name: str) -> None:
        """A device says nothing that is not its own; only which sessions left it long ago, a
        restart forgets."""
        if not self._control.is_reborn:
            self._control.problems.append(f"{self.machine.id} is refused its {kind} {name}")

    def detached(self) -> None:
        self._device.line_down(self)

    def _deliver(self, command: Command) -> None:
        self._device.deliver(command)

    def tell(self, message: Downlink) -> None:
        self._control.step()
        self._link.down(self._link, (message,))

    def receive(self, frame: Any) -> None:
        if isinstance(frame, Update):
            self._device.update(frame, self._control.clock())
        elif isinstance(frame, PromptResponse):
            self._device.answer(frame)


class _Saving:
    """A `Serial` that leaves nothing unawaited when the control plane dies."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def add(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.spawn(work, name)


class _YeaftRecords(YeaftRecords):
    async def username(self, machine: Machine) -> str:
        return "ada"

    async def slash_commands(self, machine: Machine) -> None:
        return None

    async def remotes(self, session_ids: list[str]) -> dict[str, Any]:
        disk = cast(Any, self._core).disk
        return {one: disk.sessions[one].get("remote") for one in session_ids}


class YeaftEdge(Edge):
    """The real agent behind a line without a socket."""

    _agent: Agent

    async def attach(self) -> None:
        control, machine = self._control, self.machine
        agent = control.agents.get(machine.id) or await self._loaded()
        self._agent = agent = control.agents.setdefault(machine.id, agent)
        if self._link.is_open:
            control.machines.attach(machine, self, fresh=False)
            agent.line_up(self, "/srv")
            self._link.down(self._link, ("init", {}))

    async def _loaded(self) -> Agent:
        core, saving = cast(Any, self._control), cast(Any, _Saving(self._control.tasks))
        return await _YeaftRecords(core, saving).load(self.machine)

    def detached(self) -> None:
        self._agent.line_down(self)

    def _deliver(self, command: Command) -> None:
        self._agent.deliver(command)

    def send(self, *messages: bytes) -> None:
        self._control.step()
        for message in messages:
            self._link.down(self._link, (message,))

    def receive(self, frame: Any) -> None:
        envelope = codec.decode(frame)
        match envelope.type:
            case "agent_sync_complete":
                self._agent.synced()
            case "conversation_list":
                listed = codec.read(frame, ConversationList).conversations
                ids = {one.id: one.processing for one in listed}
                strays = {one for one in ids if one not in self.machine.logs}
                if strays and not self._agent.talk.state.has_listed:
                    with self.machine.input() as core:
                        core.strays(strays)
                self._agent.listed(ids)
            case _ if envelope.conversation_id in self.machine.logs:
                self._agent.heard(envelope.conversation_id, envelope, frame)


def edge_for(control: "Control", machine: Machine, link: Link) -> Edge:
    return {"agp": AgpEdge, "yeaft": YeaftEdge}.get(link.kind, Edge)(control, machine, link)
