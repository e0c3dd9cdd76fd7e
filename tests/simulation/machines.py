"""Scripted machines of every kind: they run turns, ask, lose their line, die, and come back.

They are part of the world, which does not die with the control plane. What each one was told and
what it said is kept for the checks.
"""

from typing import Any, Protocol

from tests.simulation.edges import Link
from tests.simulation.jobs import Job
from tests.simulation.outbox import SimOutbox
from tests.simulation.styles import Style
from trunkline.wire.commands import Answer, Cancel, Configure, Query, Say, Start, Steer, Stop

_ASKS_S = 300.0  # a question that nobody answers is given up
_THINKS_S = 12.0  # an agent's model now and then, before it says a first word
_LISTS_AFTER_S = (0.5, 3.0, 15.0, 90.0, 200.0)  # some agents, once they are back
SETTLED_S = 60.0  # what is to be told on a line was told on it by then


Json = dict[str, Any]


class World(Protocol):
    random: Any
    loop: Any

    def trace(self, text: str) -> None: ...
    def after(self, delay_s: float, call: Any, *args: Any) -> None: ...
    def connect(self, machine: "SimMachine", link: Link) -> bool: ...
    def up(self, link: Link, frame: Any) -> None: ...
    def carry(self, link: Link, frame: Any) -> None: ...
    def broke(self, link: Link) -> None: ...
    def turn_of(self, session_id: str, text: str) -> str: ...
    def was_missed(self, session_id: str, turn_id: str) -> bool: ...
    def has_words(self, session_id: str, turn_id: str) -> bool: ...


class SimMachine:
    def __init__(self, world: World, machine_id: str, style: Style) -> None:
        self.id = machine_id
        self.style = style
        self.link: Link | None = None
        self.told: dict[str, int] = {}
        """How often each turn reached the machine in one life of its own."""
        self.took: dict[str, list[str]] = {}
        """The turns in which each message reached its model, in one life of its own."""
        self.given_up: dict[tuple[str, str], float] = {}
        """When it gave up waiting for an answer, on a line that had lasted for a while."""
        self.finished: dict[str, list[str]] = {}
        """What was said to each turn that it has ended, and reached its model."""
        self.disorder: str | None = None
        self._order: dict[str, set[str]] = {}
        self.said: dict[str, list[tuple[int, str]]] = {}
        """What a machine that numbers its events has said in each session."""
        self.is_doubling = world.random.random() < 0.1
        self.deaths = 0
        self._world = world
        self._life = 0
        self._sessions: dict[str, list[Job]] = {}
        self._known: set[str] = set()
        self.outbox = SimOutbox(style.outbox_max)
        self.configs: dict[str, Json] = {}
        """What each of its sessions is set to."""
        self.rules: dict[str, list[Json]] = {}
        self._is_fresh = True
        self._came_s = 0.0
        self._listed: Link | None = None
        """The line on which it has said what it is at."""
        self._dialect = style.dialect(machine_id, world.turn_of)
        self._buffer: list[Any] = []
        """What it said while it had no line."""
        self._has_buffer = style.kind == "yeaft" or world.random.random() < 0.5

    # Its line

    def connect(self) -> None:
        if self.link is not None and self.link.is_open:
            return
        link = Link(
            self.id,
            self.style.kind,
            traits=self.style.traits,
            is_fresh=self._is_fresh and self.style.kind == "vm",
            send=self._world.carry,
        )
        if self._world.connect(self, link):
            self.link = link
        else:
            self._world.after(2.0, self.connect)

    def dropped(self, link: Link) -> None:
        """The line is gone; sooner or later it notices."""
        if self.link is link:
            self.link = None
            self._world.after(self._world.random.choice((0.1, 1.0, 5.0, 20.0)), self.connect)

    def control_died(self) -> None:
        """A group lives in the control plane's own process."""
        if self.style.kind == "group":
            self._life += 1
            self._sessions.clear()
            self._known.clear()

    def die(self) -> None:
        """The program ends; another one of it comes."""
        if self.style.kind == "group":
            return  # it has none of its own
        self.deaths += 1
        self._world.trace(f"{self.id} dies")
        self._life += 1
        link, self.link = self.link, None
        if link is not None:
            self._world.broke(link)
        if not self.style.keeps:
            self._sessions.clear()
            self._known.clear()
            self.took.clear()
            self.outbox.clear()
            self._buffer.clear()
            # One that lists nothing can only say that it is new.
            self._is_fresh = not self.style.lists or self._world.random.random() < 0.5
        else:
            for jobs in self._sessions.values():
                fails = self._world.random.random()
                for job in list(jobs):
                    # One that names nothing fails in its order.
                    if (self._world.random.random() if self.style.names else 0) < fails:
                        job.is_over = True
                        self._emit(job, "execution_error", error="died", code="DIED")
                        jobs.remove(job)
                for job in jobs:
                    job.steers.clear()  # not on its disk before it has reached the model
                for job in jobs[:1]:
                    job.is_asking = False  # it asks again
                    self._work_later(job)
        self._world.after(self._world.random.choice((0.5, 3.0, 30.0)), self.connect)

    # What it is told

    def receive(self, link: Link, frame: Any) -> None:
        if link is not self.link:
            return
        match self._dialect.read(frame):
            case ("init", acked):
                self._is_fresh, link.is_live = False, True
                self._came_s = self._world.loop.time()
                self._came(acked)
            case ("ack", acked):
                self.outbox.acked(acked)
            case (Start() as start, acked):
                if start.session_id not in self._sessions:
                    self._sessions[start.session_id] = []
                    self.configs[start.session_id] = start.agent_config
                    self.rules[start.session_id] = start.rules
                if self.style.numbers:
                    self.outbox.open(start.session_id, acked)
                self._up(*self._dialect.ready(start.session_id))
            case ("resume", session_id):
                if session_id in self._sessions or self._world.random.random() < 0.5:
                    self._sessions.setdefault(session_id, [])
                    self._up(*self._dialect.ready(session_id))
                else:
                    self._up(*self._dialect.unknown(session_id))
            case (Say() as say, _):
                self._say(link, say)
            case (Steer() as steer, _):
                self._steer(steer)
            case (Cancel() as cancel, name):
                for job in self._sessions.get(cancel.session_id, [])[:1]:
                    if job.is_asking and self.style.kind == "yeaft":
                        continue  # it hears nothing but the answer
                    if name in (0, job.turn_id) and self._world.random.random() < 0.8:
                        job.is_cancelled = True
                        job.questions.clear()
                        if job.is_asking:
                            job.is_asking = False
                            self._work_later(job)
            case (Answer() as answer, _):
                self._world.trace(f"{self.id} has the answer to {answer.request_id}")
                for job in self._sessions.get(answer.session_id, []):
                    if job.is_asking and answer.request_id in job.questions:
                        self._answered(job, answer.request_id)
            case (Configure() as change, _):
                self._configured(change)
            case (Query() as asked, _):
                if self._world.random.random() < 0.7:
                    self._up(("answer", asked.id, asked.params))
            case (Stop() as stop, _):
                self._sessions.pop(stop.session_id, None)
                self._up(*self._dialect.deleted(stop.session_id))

    def _came(self, acked: dict[str, int]) -> None:
        if self.style.numbers:
            self.outbox.acked(acked)
            turns = {job.turn_id for jobs in self._sessions.values() for job in jobs}
            self._up(("resume", sorted(turns | self.outbox.turns())))
            for session_id, one in self.outbox:
                self._up(("event", session_id, one.seq, one.line))
        kept, self._buffer = self._buffer, []
        self._up(*kept)
        if self.style.kind == "yeaft":  # no agent gives up, so it asks again what may be lost
            for job in [one for jobs in self._sessions.values() for one in jobs if one.is_asking]:
                self._ask(job)
        first = self._first()
        self._listed = self.link
        if self._world.random.random() < 0.5:
            first.reverse()  # some list what they are at only behind their sync, or much later
            if len(first) > 1 and self._world.random.random() < 0.5:
                del first[1:]
                self._listed = None
                after_s = self._world.random.choice(_LISTS_AFTER_S)
                self._world.after(after_s, self._list_late, self.link)
        self._up(*first)
        if self.style.kind == "vm":
            self._list()

    def _list_late(self, link: Link | None) -> None:
        if self.link is link:
            self._listed = link
            self._list()

    def _first(self) -> list[Any]:
        return self._dialect.first({one: bool(jobs) for one, jobs in self._sessions.items()})

    def _configured(self, change: Configure) -> None:
        if change.session_id not in self._sessions:
            return
        patch = dict(change.patch)
        if "rules" in patch:
            self.rules[change.session_id] = patch.pop("rules")
        known = self.configs.get(change.session_id, {})
        self.configs[change.session_id] = {**known, **patch}

    def _list(self) -> None:
        """Its heartbeat, once it has listed what it has at all."""
        if self.style.kind == "vm" and self.style.lists:
            self._up(("list", list(self._sessions)))
        elif self.style.kind == "yeaft" and self.style.lists and self._listed is self.link:
            self._up(*self._first()[:1])

    def runs(self, session_id: str) -> bool:
        return session_id in self._sessions

    def beat(self) -> None:
        if self.link is not None:
            self._list()

    def _say(self, link: Link, say: Say) -> None:
        if self.style.kind in ("agp", "yeaft"):
            if say.turn_id in link.told:
                self.disorder = f"{self.id} is told {say.turn_id} twice on one line"
            link.told.add(say.turn_id)
        before = [one for one in self.told if one in self._order.get(say.session_id, ())]
        is_late = self._world.was_missed(say.session_id, say.turn_id)  # it was said to another
        if before and say.turn_id < before[-1] and say.turn_id not in self.told and not is_late:
            self.disorder = f"{self.id} is told {say.turn_id} after {before[-1]}"
        self._order.setdefault(say.session_id, set()).add(say.turn_id)
        if self.style.kind == "yeaft" and say.turn_id in self.told:
            self._is_told_again(say)
        self.told[say.turn_id] = self.told.get(say.turn_id, 0) + 1
        self._world.trace(f"{self.id} is told {say.turn_id}")
        if say.session_id not in self._sessions:
            if self.style.kind == "vm":
                return  # it runs no such session
            if self.style.kind == "yeaft":
                self.disorder = f"{self.id} is told {say.turn_id} in no conversation of its own"
            self._sessions[say.session_id] = []
        if say.turn_id in self._known and (self.style.numbers or self.style.names):
            return
        self._known.add(say.turn_id)
        self.took.setdefault(say.turn_id, []).append(say.turn_id)
        job = Job(say.session_id, say.turn_id)
        job.pieces = self._world.random.randrange(4)
        if self.style.asks and self._world.random.random() < 0.3:
            count = self._world.random.choice((1, 1, 2, 8))
            job.questions = [f"{job.turn_id}?{number}" for number in range(count)]
        jobs = self._sessions[say.session_id]
        if any(one.turn_id == say.turn_id for one in jobs):
            self.disorder = f"{self.id} is told {say.turn_id}, which it is at"
        jobs.append(job)
        if len(jobs) == 1:
            self._work_later(job, is_new=True)

    def _is_told_again(self, say: Say) -> None:
        """It has begun it. That nobody can know where it was done with it, or died at it, and not
        one word of it arrived; and never where it does not say what it is at."""
        if not self.style.lists:
            self.disorder = f"{self.id}, which lists nothing, is told {say.turn_id} twice"
        elif self._world.has_words(say.session_id, say.turn_id):
            self.disorder = f"{self.id} is told {say.turn_id}, which it has spoken of"

    def _steer(self, steer: Steer) -> None:
        for job in self._sessions.get(steer.session_id, []):
            if job.turn_id == steer.turn_id and steer.message_id in self.took:
                self._emit(job, "steer_taken", message_id=steer.message_id)  # perhaps lost
            elif job.turn_id == steer.turn_id and steer.message_id not in job.steers:
                job.steers.append(steer.message_id)

    # What it does

    def _work_later(self, job: Job, *, is_new: bool = False) -> None:
        delay_s = self._world.random.choice((0.001, 0.01, 0.2, 3.0))
        if is_new and self.style.kind == "yeaft" and self._world.random.random() < 0.1:
            delay_s = _THINKS_S
        self._world.after(delay_s, self._work, self._life, job)

    def _work(self, life: int, job: Job) -> None:
        jobs = self._sessions.get(job.session_id, [])
        if life != self._life or job.is_over or job not in jobs:
            return
        if job.is_cancelled:
            job.steers.clear()
        for message_id in job.steers:
            self.took.setdefault(message_id, []).append(job.turn_id)
            job.took.append(message_id)
            self._emit(job, "steer_taken", message_id=message_id)
            job.pieces += 1
        job.steers.clear()
        if job.is_cancelled:
            self._end(job, cancelled=True)
        elif job.said < job.pieces:
            job.said += 1
            self._emit(job, "text_chunk", content=f"{job.turn_id} {job.said}")
            self._work_later(job)
        elif job.questions and not job.is_asking:
            job.is_asking = True
            self._ask(job)
            if self.style.kind != "yeaft":  # no agent gives up
                self._world.after(_ASKS_S, self._give_up, life, job)
        elif not job.questions:
            self._end(job)

    def _ask(self, job: Job) -> None:
        for request_id in job.questions:
            self._emit(job, "approval_request", request_id=request_id, tool_name="x")

    def _answered(self, job: Job, request_id: str) -> None:
        job.questions.remove(request_id)
        if not job.questions:
            job.is_asking = False
            self._work_later(job)

    def _give_up(self, life: int, job: Job) -> None:
        if life != self._life or job.is_over or not job.is_asking:
            return
        now_s = self._world.loop.time()
        is_settled = self.link is not None and now_s - self._came_s > SETTLED_S
        for request_id in list(job.questions):
            if is_settled:
                self.given_up[job.session_id, request_id] = now_s
            self._emit(job, "approval_resolved", request_id=request_id, confirmed=False)
            self._answered(job, request_id)

    def _end(self, job: Job, **fields: Any) -> None:
        job.is_over = True
        self.finished[job.turn_id] = job.took
        jobs = self._sessions[job.session_id]
        jobs.remove(job)
        for _ in range(2 if self.is_doubling and self._world.random.random() < 0.3 else 1):
            self._emit(job, "execution_complete", content=f"end of {job.turn_id}", **fields)
        for following in jobs[:1]:
            self._work_later(following)

    def _emit(self, job: Job, kind: str, **fields: Any) -> None:
        event = {"type": kind, **fields}
        if self.style.names:
            event["turn_id"] = job.turn_id
        seq = None
        if self.style.numbers:
            one = self.outbox.add(job.session_id, job.turn_id, event)
            seq = one.seq
            self.said.setdefault(job.session_id, []).append((seq, one.line))
        self._up(*self._dialect.said(job.session_id, seq, event))

    def _up(self, *frames: Any) -> None:
        """What is said before the line is live is lost, unless it is kept."""
        if self.link is not None and self.link.is_live:
            for frame in frames:
                self._world.up(self.link, frame)
        elif self._has_buffer and self.style.kind in ("agp", "yeaft"):
            self._buffer += frames
