"""Sessions that come and go: each is made, used for one turn and closed before the next.

What the server keeps of a closed session, it keeps for ever; so its resident memory is looked at
after a tenth, a fifth and all of them. Now and then nothing is said, and the journal is folded.
"""

import json
import time

from bench import budgets
from bench.commands import Done, Exchange, Step
from bench.generator.client import GeneratorClient
from bench.results import Metric, Results
from bench.scenarios import Sizes
from bench.sides.base import Side, close_all, running
from bench.sides.rest import Rest, RestError
from bench.sides.trunkline import Trunkline, heartbeat

TURN_S_MAX = 10.0


def passing_sessions(
    side: Side, generator: GeneratorClient, sizes: Sizes, results: Results
) -> None:
    """Only Trunkline has sessions."""
    assert isinstance(side, Trunkline)
    total = sizes.passed_sessions
    rest, token, machine_id = side.open_machine(generator)
    mib: dict[int, float] = {}
    marks = (total // 10, total // 5, total)
    step = max(1, total // 20 // budgets.PASSED_SAMPLES)
    samples: list[float] = []
    for number in range(1, total + 1):
        _one(generator, rest, token, machine_id)
        if number % step == 0:
            samples = [*samples[1 - budgets.PASSED_SAMPLES :], running(side).rss_kib() / 1024]
        if number % budgets.PASSED_TOGETHER == 0:
            time.sleep(budgets.PASSED_PAUSE_S)
        if number in marks:
            mib[number] = min(samples)
    close_all(generator)
    first, settled, last = (mib[mark] for mark in marks)
    results.sessions_passed = total
    results.add(Metric.SESSIONS_FIRST, side.name, first)
    results.add(Metric.SESSIONS_LAST, side.name, last)
    results.add(Metric.SESSIONS_GROWTH, side.name, max(0.0, last - settled))


def _one(generator: GeneratorClient, rest: Rest, token: str, machine_id: str) -> None:
    session_id = rest.new_session(token, machine_id)
    rest.send(token, session_id, "hello")
    end = json.dumps({"type": "execution_complete", "content": "done"})
    says = json.dumps({"type": "sse_event", "session_id": session_id, "data": end})
    awaits = f'"user_message"[^{{]*"session_id":"{session_id}"'
    # As our daemon when a session starts, it says what it runs: those before are over.
    runs = Step(awaits=awaits, says=heartbeat([session_id]))
    generator.ask(Exchange(0, [runs, Step(says=says)]), Done)
    until = time.monotonic() + TURN_S_MAX
    while rest.turn_states(token, session_id) != ["completed"]:
        if time.monotonic() > until:
            raise RestError(f"the turn of session {session_id} did not end")
    rest.close_session(token, session_id)
