"""What has to hold after every run, whatever happened in it."""

from collections import Counter

from tests.simulation.loop import at_once
from tests.simulation.machines import SETTLED_S, SimMachine
from tests.simulation.people import Message
from tests.simulation.stores import Disk, MemoryRows, journal
from tests.simulation.world import CALM_SWEEP_S, Simulation
from trunkline import limits
from trunkline.control.log import events
from trunkline.control.sessions.projection import Position
from trunkline.control.sessions.state import SessionState, TurnEnded, decode, fold
from trunkline.wire.agp.device import DEVICE_SILENT


class Broken(AssertionError):
    """An invariant does not hold."""


def check(run: Simulation) -> None:
    if run.loop.problems:
        raise Broken(f"something failed: {run.loop.problems[0]}")
    ends = _records_equal_a_fold(run)
    _ends_are_their_own(run)
    _readers_saw_the_log(run)
    for message in run.messages:
        _is_said_once(run, message)
        _reaches_one_turn(run, message, ends)
        if message.turn_id is not None:
            _has_one_end(run, message.turn_id, message.session_id, ends)
    _everything_is_folded(run)
    for session_id, row in run.disk.sessions.items():
        _nothing_waits(run, session_id, row["state"])
        if not row["left"]:
            _lost_answers_end_soon(run, session_id, row["machine_id"])
    for machine in run.machines.values():
        if machine.disorder is not None:
            raise Broken(machine.disorder)
        _told_once(run, machine)
        _took_once(machine)
        _runs_its_own(run, machine)
        _what_is_lost_is_told(run, machine)
        _has_its_settings(run, machine)
        _answers_arrive(run, machine)
    _answers_are_logged(run)
    _refusals_leave_nothing(run)
    _everybody_is_answered(run)
    for session_id in run.closed:
        kinds = Counter(events.object_of(line)["type"] for line, _ in run.disk.events[session_id])
        if kinds["session_closed"] != 1:
            raise Broken(f"{session_id} is closed {kinds['session_closed']} times in its log")


def _everything_is_folded(run: Simulation) -> None:
    """However often the fold died: the segments hold what was committed."""
    if run.disk.tables.journal:
        raise Broken("the journal is not folded")
    store = journal(run.disk, run.random, lambda: None)
    for session_id in run.disk.sessions:
        if at_once(store.entries(session_id, 0, 0)) != run.disk.entries(session_id):
            raise Broken(f"the segments of {session_id} are not what was committed")
        head = at_once(store.heads([session_id])).get(session_id)
        if head is not None and head.machine_seq != run.disk.seqs[session_id]:
            raise Broken(f"the machine's number in {session_id} is an old one")


def _records_equal_a_fold(run: Simulation) -> Counter[str]:
    """Whoever folds the log from its beginning comes to the same records; how often each turn
    ended on the way."""
    fresh, ends = Disk(), Counter[str]()
    rows = MemoryRows(fresh, run.random, lambda: None)
    fresh.sessions = {
        one: {"machine_id": None, "status": "active", "unsettled": False, "left": []}
        for one in run.disk.sessions
    }
    for session_id, row in run.disk.sessions.items():
        entries = run.disk.entries(session_id)
        first = row["left"][0] if row["left"] else row["machine_id"]
        state = SessionState(first)
        fresh.sessions[session_id]["machine_id"] = first
        for entry in entries:
            for change in fold(state, entry.text, is_note=entry.note > 0):
                rows.apply(session_id, entry.at, change)
                if isinstance(change, TurnEnded):
                    ends[change.turn_id] += 1
        if state.encode() != row["state"]:
            raise Broken(f"the state of {session_id} is not the fold of its log")
        if row["position"] > Position(len(run.disk.events.get(session_id, ())), 10**9):
            raise Broken(f"the records of {session_id} are ahead of its log")
        for name in ("machine_id", "status", "unsettled"):
            if fresh.sessions[session_id][name] != row[name]:
                raise Broken(f"{name} of {session_id} is {row[name]!r}, and not so in its log")
    if fresh.turns != run.disk.turns:
        raise Broken("the records of turns are not the fold of the log")
    if fresh.approvals != run.disk.approvals:
        raise Broken("the records of questions are not the fold of the log")
    return ends


def _ends_are_their_own(run: Simulation) -> None:
    """A turn ends with its own terminal event. A machine that does not name its turns can be
    mistaken, but only where a line broke or somebody died, or where it says something twice."""
    is_calm = not run.cuts and not run.deaths
    for session_id, row in run.disk.sessions.items():
        machine = run.machines[row["machine_id"]]
        calm = is_calm and not machine.deaths and not machine.is_doubling and not row["left"]
        state = SessionState(row["machine_id"])
        for entry in run.disk.entries(session_id):
            for change in fold(state, entry.text, is_note=entry.note > 0):
                if not isinstance(change, TurnEnded) or "end of turn-" not in entry.text:
                    continue
                is_sure = calm or (machine.style.names and not row["left"])
                if f"end of {change.turn_id}" not in entry.text and is_sure:
                    raise Broken(f"{change.turn_id} has another turn's end: {entry.text}")


def _readers_saw_the_log(run: Simulation) -> None:
    for session_id, seen in run.seen.items():
        log = run.disk.events.get(session_id, [])
        for number, line in seen.items():
            if number > len(log) or log[number - 1][0] != line:
                raise Broken(f"what a reader saw as event {number} of {session_id} is gone")


def _is_said_once(run: Simulation, message: Message) -> None:
    """However often a client sent it."""
    name = f'"client_message_id":"{message.name}"'
    lines = run.disk.events.get(message.session_id, [])
    if sum(name in line for line, _ in lines) > 1:
        raise Broken(f"{message.name!r} opened more than one turn")


def _reaches_one_turn(run: Simulation, message: Message, ends: Counter[str]) -> None:
    """A message to a running turn reaches the model in that turn, or in one of its own, or goes
    with what somebody has stopped."""
    log = [events.object_of(line) for line, _ in run.disk.events.get(message.session_id, ())]
    said = [one for one in log if one.get("client_message_id") == message.name]
    if not said or "steers" not in said[0]:
        return
    message_id, turn_id = said[0]["message_id"], said[0]["steers"]
    row, session = run.disk.turns[message_id], run.disk.sessions[message.session_id]
    missed = [one for one in log if one["type"] == "steer_missed" and one["turn_id"] == message_id]
    if len(missed) > 1 or ends[message_id] != len(missed):
        raise Broken(f"{message_id} was missed {len(missed)} times, ended {ends[message_id]}")
    if missed:
        return
    if row["state"] == "steered":
        machine = run.machines[session["machine_id"]]
        ended = [one for one in log if one.get("content") == f"end of {turn_id}"]
        took = machine.finished.get(turn_id)
        if ended and not session["left"] and took is not None and message_id not in took:
            raise Broken(f"{turn_id} has ended without {message_id}, which it was said to have")
    elif row["state"] != "cancelled":
        raise Broken(f"{message_id} is {row['state']} for ever")


def _has_one_end(run: Simulation, turn_id: str, session_id: str, ends: Counter[str]) -> None:
    log = [events.object_of(line) for line, _ in run.disk.events.get(session_id, [])]
    opened = [
        event
        for event in log
        if event.get("turn_id") == turn_id
        and event["type"] in ("user_message", "steer_missed")
        and event.get("steers") != turn_id
    ]
    if len(opened) != 1:
        raise Broken(f"{turn_id} was opened {len(opened)} times in the log")
    if ends[turn_id] != 1:
        raise Broken(f"{turn_id} has {ends[turn_id]} ends")


def _nothing_waits(run: Simulation, session_id: str, data: bytes) -> None:
    state = decode(data)
    if state.turns:
        raise Broken(f"{session_id} waits for ever: {list(state.turns.values())}")
    if state.steers:
        raise Broken(f"{session_id} has messages to turns that are over: {list(state.steers)}")
    pending = [one for one, question in state.questions.items() if question.state == "pending"]
    if pending:
        raise Broken(f"{session_id} waits for answers that nobody needs: {pending}")
    control = run.control
    machine = control.machines.find(str(state.machine_id)) if control is not None else None
    if machine is None:
        return
    hosted = machine.core.state.sessions.get(session_id)
    if state.is_closed and hosted is not None:
        raise Broken(f"{session_id} is closed and still in memory")
    if hosted is not None and (hosted.waiting or hosted.steering):
        raise Broken(f"something waits for {session_id}, and nobody needs it")


def _lost_answers_end_soon(run: Simulation, session_id: str, machine_id: str) -> None:
    """A turn that a device had before its line came back, and has not spoken of since, is not
    waited for as long as one on which it may work in silence."""
    log = [(events.object_of(line), at / 1000) for line, at in run.disk.events.get(session_id, ())]
    for event, end_s in log:
        if event.get("code") != DEVICE_SILENT:
            continue
        turn_id = event["turn_id"]
        told_s = run.prompted[machine_id, turn_id]
        back_s = max((one for one in run.lines_up[machine_id] if one < end_s), default=0.0)
        has_spoken = any(
            one.get("turn_id") == turn_id and "msg_id" in one and at > back_s for one, at in log
        )
        # Time is looked at now and then: once to see that it is silent, once that it was too long.
        limit_s = limits.AGP_RETURNED_SILENCE_S + 2 * CALM_SWEEP_S + 1.0
        if told_s < back_s and not has_spoken and end_s - back_s > limit_s:
            raise Broken(f"{turn_id} is waited for {end_s - back_s:.0f} s after a return")


def _told_once(run: Simulation, machine: SimMachine) -> None:
    """A machine that cannot say what it has is told of a turn at most once."""
    if machine.style.kind == "vm" and not machine.style.numbers:
        for (machine_id, turn_id), count in run.sent.items():
            if machine_id == machine.id and count > 1:
                raise Broken(f"{machine.id} was told {count} times of {turn_id}")


def _took_once(machine: SimMachine) -> None:
    """What reached a machine's model, as a turn or in one, does not reach it again."""
    if machine.style.keeps and machine.style.steers:
        for message_id, turns in machine.took.items():
            if len(turns) > 1:
                raise Broken(f"{message_id} reached the model of {machine.id} in {turns}")


def _runs_its_own(run: Simulation, machine: SimMachine) -> None:
    """What was closed or moved away does not run on, where the machine can be told."""
    if machine.style.kind != "vm" or machine.link is None:
        return
    for session_id, row in run.disk.sessions.items():
        is_own = row["machine_id"] == machine.id and row["status"] == "active"
        if not is_own and machine.runs(session_id):
            raise Broken(f"{machine.id} still runs {session_id}")


def _as_kept(line: str) -> str:
    """Events are kept as they were said, but for the one that is written anew."""
    if '"approval_resolved"' not in line:
        return line
    fields = events.object_of(line)
    fields.pop("ts", None)
    return repr(sorted(fields.items()))


def _what_is_lost_is_told(run: Simulation, machine: SimMachine) -> None:
    """What a machine that numbers and keeps its events has said is in the log once, in order. What
    its full outbox has dropped is told at its place, with how many they were."""
    if not machine.style.keeps:
        return
    for session_id, said in machine.said.items():
        row = run.disk.sessions[session_id]
        if row["left"] or row["status"] == "closed":
            continue  # what it said after it was told to stop is not taken
        kept = [_as_kept(line) for _, line in said]
        next_at, told = 0, 0
        for line, _ in run.disk.events.get(session_id, []):
            if '"lost_events"' in line:
                told += events.object_of(line)["lost_events"]
                continue
            try:
                at = kept.index(_as_kept(line), next_at)
            except ValueError:
                continue  # not the machine's
            _is_told(machine, session_id, kept[next_at:at], told)
            next_at, told = at + 1, 0
        _is_told(machine, session_id, kept[next_at:], told)


def _is_told(machine: SimMachine, session_id: str, missing: list[str], told: int) -> None:
    lost = [line for line in missing if '"execution_' not in line]  # a late end is taken, not shown
    if len(lost) != told:
        raise Broken(f"of {session_id} {machine.id} lost {lost}, and {told} is told")
    if any('"text_chunk"' not in line for line in lost):
        raise Broken(f"of {session_id} {machine.id} lost what somebody waits for: {lost}")
    if lost and machine.style.outbox_max is None:
        raise Broken(f"of {session_id} {machine.id} lost {lost} though it keeps all")


def _has_its_settings(run: Simulation, machine: SimMachine) -> None:
    """A session runs with the newest rules, where its machine holds to any, and with the newest
    configuration: but for a change that a line or the control plane took with it when it broke."""
    if machine.style.kind != "vm" or machine.link is None:
        return
    for session_id, row in run.disk.sessions.items():
        is_own = row["machine_id"] == machine.id and row["status"] == "active"
        if not is_own or not machine.runs(session_id):
            continue
        if machine.style.rules and machine.rules[session_id] != row["rules"]:
            has = machine.rules[session_id]
            raise Broken(f"{machine.id} holds {session_id} to {has}, not to {row['rules']}")
        is_certain = run.changed.get(session_id) == run.deaths and session_id not in run.swallowed
        if is_certain and machine.configs[session_id] != row["config"]:
            config = machine.configs[session_id]
            raise Broken(f"{machine.id} runs {session_id} with {config}, not with {row['config']}")


def _refusals_leave_nothing(run: Simulation) -> None:
    for message in run.messages:
        lines = run.disk.events.get(message.session_id, [])
        is_there = any(f'"client_message_id":"{message.name}"' in line for line, _ in lines)
        if message.is_refused and message.turn_id is None and is_there:
            raise Broken(f"{message.name!r} was refused, and is in the log")


def _everybody_is_answered(run: Simulation) -> None:
    waiting = [number for number, life in run.asked.items() if life == run.deaths]
    if waiting:
        raise Broken(f"somebody waits for a machine's word for ever: {waiting}")


def _answers_arrive(run: Simulation, machine: SimMachine) -> None:
    """Nobody waits for an answer that was given long ago."""
    for (session_id, request_id), given_up_s in machine.given_up.items():
        row = run.disk.sessions[session_id]
        asked = run.disk.approvals.get((session_id, request_id))  # it may never have arrived
        answered_ms = asked["answered_at"] if asked is not None else None
        ended_ms = run.disk.turns[request_id.partition("?")[0]]["finished_at"]
        is_open = ended_ms is None or ended_ms / 1000 >= given_up_s
        is_own = not row["left"] and row["status"] == "active" and is_open
        is_old = answered_ms is not None and answered_ms / 1000 < given_up_s - SETTLED_S
        if is_own and is_old and (session_id, request_id) in run.answers:
            raise Broken(f"the answer to {request_id} never reached {machine.id}")


def _answers_are_logged(run: Simulation) -> None:
    for (_, request_id), count in run.answers.items():
        if count != 1:
            raise Broken(f"{count} answers to {request_id} were accepted")
    for session_id, events_ in run.disk.events.items():
        resolved: Counter[str] = Counter()
        for line, _ in events_:
            if '"approval_resolved"' in line and '"answered_by"' in line:
                resolved[events.object_of(line)["request_id"]] += 1
        for request_id, count in resolved.items():
            if count != 1:
                raise Broken(f"{request_id} has {count} answers in the log")
        for session, request_id in run.answers:
            if session == session_id and not resolved[request_id]:
                raise Broken(f"the accepted answer to {request_id} is not in the log")
