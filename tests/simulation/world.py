"""One run: a control plane that dies and comes back, machines, people, and a bad network."""

import asyncio
import json
from random import Random
from typing import Any

from tests.simulation.control import Control
from tests.simulation.edges import Edge, Link
from tests.simulation.loop import LIFE, Died, VirtualLoop, within
from tests.simulation.machines import SimMachine
from tests.simulation.people import Message, People, WhenBusy
from tests.simulation.settings import tuning_of
from tests.simulation.stores import Disk
from tests.simulation.styles import STYLES
from trunkline.control.log.session_log import Batch, SessionLog
from trunkline.wire.agp import messages as agp
from trunkline.wire.commands import Configure, Say

_TROUBLE_S = 120.0  # how long people talk and things break
_CALM_S = 2 * 3600.0  # how long everything has to settle
CALM_SWEEP_S = 60.0
_WHEN_BUSY: tuple[WhenBusy, ...] = ("queue", "queue", "queue", "steer", "steer", "steer", "replace")


class SimReader:
    """Follows a session through one life of the control plane."""

    def __init__(self, log: SessionLog, seen: dict[int, str]) -> None:
        self.log = log
        self._seen = seen

    def deliver(self, batch: Batch) -> None:
        for number, line in enumerate(batch.lines, batch.first_id):
            if self._seen.setdefault(number, line) != line:
                raise AssertionError(f"event {number} has changed")

    def resync(self) -> None:
        """It goes on from now."""


class Simulation(People):
    def __init__(self, seed: int, *, is_reloading: bool = False) -> None:
        """`is_reloading`: states are saved, loaded and gone on from at random moments."""
        super().__init__()
        self.random = Random(seed)
        self._reloads = Random(seed) if is_reloading else None
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self.loop.on_step = self._before_step
        self.disk = Disk()
        self.trace_lines: list[str] = []
        self.machines: dict[str, SimMachine] = {}
        self.seen: dict[str, dict[int, str]] = {}
        self.sent: dict[tuple[str, str], int] = {}
        """How often each turn was put on a line of each machine."""
        self.prompted: dict[tuple[str, str], float] = {}
        """When each turn was first put on a line of a device."""
        self.lines_up: dict[str, list[float]] = {}
        """When lines of each machine came up."""
        self.swallowed: set[str] = set()
        """The sessions of which a change of their configuration was lost with a line."""
        self.deaths = 0
        self.cuts = 0
        self._life = 0
        self._control: Control | None = None
        self._fuse: int | None = None
        self._is_calm = False
        self._clock: dict[int, float] = {}
        self._turns = 0
        self._tuning = tuning_of(self.random)
        self.disk.is_slow = self.random.random() < 0.15

    # The world's own services

    def trace(self, text: str) -> None:
        self.trace_lines.append(f"{self.loop.time():10.3f}  {text}")

    def after(self, delay_s: float, call: Any, *args: Any) -> None:
        token = LIFE.set(0)
        try:
            self.loop.call_later(delay_s, call, *args)
        finally:
            LIFE.reset(token)

    def turn_of(self, session_id: str, text: str) -> str:
        """The turn that this message has opened."""
        for line, _ in self.disk.events[session_id]:
            if '"user_message"' in line and (event := json.loads(line))["content"] == text:
                return str(event["turn_id"])
        raise AssertionError(f"nobody has said {text!r}")

    def was_missed(self, session_id: str, turn_id: str) -> bool:
        """Whether the turn's message was first one to another turn."""
        return any(
            '"steer_missed"' in line and json.loads(line)["turn_id"] == turn_id
            for line, _ in self.disk.events[session_id]
        )

    def has_words(self, session_id: str, turn_id: str) -> bool:
        """Whether something that a machine said of the turn is in the log."""
        own, said = f'"turn_id":"{turn_id}"', '{"type":"text_chunk"'
        return any(one.startswith(said) and own in one for one, _ in self.disk.events[session_id])

    def _new_id(self) -> str:
        self._turns += 1
        return f"turn-{self._turns:03}"

    # The control plane

    def _before_step(self) -> None:
        if self._reloads is not None and self._control is not None and self._reloads.random() < 0.1:
            self._control.reload()
        self._step()

    def _step(self) -> None:
        """A point at which the control plane may die."""
        if self._fuse is not None:
            self._fuse -= 1
            if self._fuse <= 0:
                self._die()
                raise Died

    def _die(self) -> None:
        self.trace("control plane dies")
        self.deaths += 1
        self._fuse = None
        self.loop.kill(self._life)
        self._control = None
        for machine in self.machines.values():
            machine.control_died()
            if machine.link is not None:
                link = machine.link
                link.is_open = False
                self.after(self.random.choice((0.0, 0.5)), machine.dropped, link)
        self.after(self.random.choice((0.1, 2.0, 40.0)), self._start)

    def _start(self) -> None:
        self._life += 1
        self.trace("control plane starts")
        control = self._control = Control(
            self.loop,
            self.disk,
            self.random,
            self._step,
            self._new_id,
            self._tuning,
            self.swallowed,
        )
        if self._is_calm:
            control.sweep_s = CALM_SWEEP_S
        elif self.random.random() < 0.75:
            self._fuse = int(self.random.expovariate(1 / 150)) + 1
        within(self._life, control.tasks.spawn, control.start(), "control plane")
        for session_id in self.disk.sessions:
            within(self._life, control.tasks.spawn, self._follow(session_id), "reader")

    async def _follow(self, session_id: str) -> None:
        control = self._control
        if control is not None:
            log = await control.log.open(session_id)
            reader = SimReader(log, self.seen.setdefault(session_id, {}))
            control.readers.append(reader)
            await control.log.follow(log, reader, None)

    @property
    def control(self) -> Control | None:
        return self._control if self._control is not None and self._control.is_ready else None

    def soon(self) -> None:
        """The control plane may die in its very next steps."""
        if not self._is_calm and self.random.random() < 0.3:
            self._fuse = self.random.randrange(1, 40)

    def _ask(self, work: Any) -> None:
        """A client's request, which dies with the control plane."""
        if self.control is None:
            work.close()
        else:
            within(self._life, self.control.tasks.spawn, work, "request")

    # The network

    def connect(self, machine: SimMachine, link: Link) -> bool:
        control = self.control
        if control is None:
            return False
        self.trace(f"{machine.id} connects{' afresh' if link.is_fresh else ''}")
        within(self._life, control.accept, link)
        # Most goes on in a line's first moments, above all where a conversation is opened first.
        chance = 0.3 if machine.style.kind == "yeaft" else 0.1
        if not self._is_calm and self.random.random() < chance:
            self.after(self.random.choice((0.002, 0.06, 0.15, 0.3)), self.cut, machine)
        return True

    def up(self, link: Link, frame: Any) -> None:
        """From a machine; frames of one line arrive in their order."""
        self.after(self._delay(link, 0), self._arrive, link, frame)

    def _arrive(self, link: Link, frame: Any) -> None:
        if link.is_open and link.edge is not None and self._control is not None:
            within(self._life, link.edge.take, frame)

    def carry(self, link: Link, frame: Any) -> None:
        """To a machine."""
        match frame[0]:
            case Say(turn_id=turn_id):
                key = link.machine_id, turn_id
                self.sent[key] = self.sent.get(key, 0) + 1
            case agp.Prompt(payload=asked):
                self.prompted.setdefault((link.machine_id, asked.prompt_id), self.loop.time())
            case "init":
                self.lines_up.setdefault(link.machine_id, []).append(self.loop.time())
        self.after(self._delay(link, 1), self._deliver, link, frame)

    def _deliver(self, link: Link, frame: Any) -> None:
        if link.is_open:
            self.machines[link.machine_id].receive(link, frame)
        elif isinstance(frame[0], Configure):
            self.swallowed.add(frame[0].session_id)

    def _delay(self, link: Link, way: int) -> float:
        key, now = id(link) * 2 + way, self.loop.time()
        when = max(now + self.random.choice((0.0, 0.001, 0.05)), self._clock.get(key, 0.0))
        self._clock[key] = when
        return when - now

    def broke(self, link: Link) -> None:
        """What is under way is lost; the control plane notices a little later."""
        link.is_open = False
        self.after(self.random.choice((0.0, 1.0, 25.0)), self._noticed, link)

    def _noticed(self, link: Link) -> None:
        edge: Edge | None = link.edge
        if edge is not None and self._control is not None and edge in self._control.edges:
            within(self._life, self._control.lost, edge)

    def cut(self, machine: SimMachine) -> None:
        self.cuts += 1
        if machine.link is not None and machine.style.kind != "group":
            self.trace(f"the line of {machine.id} breaks")
            link = machine.link
            self.broke(link)
            machine.dropped(link)

    # The run

    def run(self) -> None:
        self._prepare()
        self.loop.run_until(_TROUBLE_S)
        self._is_calm, self._fuse, self.disk.is_slow = True, None, False
        for number in range(1, 20):
            self.after(number * _CALM_S / 20, self._answer_all)
            for machine in self.machines.values():
                self.after(number * _CALM_S / 20, machine.beat)
        self.trace("calm")
        if self._control is not None:
            self._control.sweep_s = CALM_SWEEP_S
        self.loop.run_until(_TROUBLE_S + _CALM_S)

    def _prepare(self) -> None:
        random = self.random
        styles = [random.choice(STYLES) for _ in range(random.choice((1, 1, 2)))]
        for number, style in enumerate(styles):
            machine_id = f"m{number}"
            self.disk.machines[machine_id] = {
                "kind": style.kind,
                "state": "pending",
                "last_seen_at": None,
            }
            self.machines[machine_id] = SimMachine(self, machine_id, style)
            self.trace(f"{machine_id} is of the kind {style.name!r}")
        self.after(0.0, self._start)
        for machine in self.machines.values():
            if machine.style.kind not in ("agp", "yeaft") or random.random() < 0.95:
                self.after(random.choice((0.1, 1.0, 20.0)), machine.connect)
            self._every(10.0, machine.beat)
        names = list(self.machines)
        sessions = [f"s{number}" for number in range(random.choice((1, 1, 2, 3)))]
        for session_id in sessions:
            self.after(0.5, self._create, session_id, random.choice(names), 200)
        at_s = 0.0
        for number in range(random.randrange(1, 7)):
            when_busy = random.choice(_WHEN_BUSY)
            message = Message(random.choice(sessions), f"message {number}", when_busy)
            self.messages.append(message)
            if self.messages[:-1] and random.random() < 0.4:  # while the one before is at work
                message.session_id = self.messages[-2].session_id
                at_s += random.choice((0.05, 0.5, 3.0))
            else:
                at_s = self._sometime()
            self.after(at_s, self._talk, message, 20)
        for _ in range(random.randrange(3)):
            self.after(self._sometime(), self._do, self._cancel, random.choice(sessions))
        for _ in range(random.randrange(4)):
            self.after(self._sometime(), self.cut, self.machines[random.choice(names)])
        for _ in range(random.randrange(2)):
            self.after(self._sometime(), self.machines[random.choice(names)].die)
        if random.random() < 0.3:
            self.after(self._sometime(), self._do, self._close, random.choice(sessions))
        for change in (self._configure, self._rule, self._forward):
            for _ in range(random.choice((0, 0, 1, 3))):
                self.after(self._sometime(), self._do, change, random.choice(sessions))
        if random.random() < 0.3:
            self.after(self._sometime(), self._do, self._query, random.choice(sessions))
        if len(names) > 1 and random.random() < 0.5:
            session_id = random.choice(sessions)
            self.after(self._sometime(), self._do, self._move, session_id, random.choice(names))
        self._every(7.0, self._answer_all)

    def _sometime(self) -> float:
        return self.random.choice((5.0, 20.0, 60.0)) * self.random.random() + 1.0

    def _every(self, period_s: float, call: Any) -> None:
        """While there is trouble, and a few times after it."""

        def again(left: int) -> None:
            call()
            if left:
                self.after(period_s, again, left - 1)

        self.after(period_s, again, int(_TROUBLE_S / period_s) + 2)

    def _do(self, call: Any, *args: Any) -> None:
        if self.control is not None and args[0] in self.disk.sessions:
            self._ask(call(*args))

    def _create(self, session_id: str, machine_id: str, tries: int) -> None:
        if session_id in self.disk.sessions:
            return
        if self.control is not None:
            self._ask(self.control.create(session_id, machine_id))
            self._ask(self._follow(session_id))
        if tries:
            self.after(1.0, self._create, session_id, machine_id, tries - 1)

    def bury(self) -> None:
        asyncio._set_running_loop(None)
        self.loop.bury()
