"""What the source documents promise, entry by entry, and the check that each promise has a test.

A test names what it proves with `@pytest.mark.proves("<id>")`; `docs/protocols/coverage.md` is
made from both by `python -m tests.requirements.coverage`.
"""

from tests.requirements.execution import (
    compatibility,
    daemon,
    degradation,
    graph,
    line,
    models,
    openclaw,
    overview,
    runtimes,
    skills,
    state,
)
from tests.requirements.requirement import Requirement
from tests.requirements.semibot import connection, downlink, operation, recovery, uplink

MANIFEST: tuple[Requirement, ...] = (
    *connection.REQUIREMENTS,
    *uplink.REQUIREMENTS,
    *downlink.REQUIREMENTS,
    *recovery.REQUIREMENTS,
    *operation.REQUIREMENTS,
    *overview.REQUIREMENTS,
    *line.REQUIREMENTS,
    *state.REQUIREMENTS,
    *runtimes.REQUIREMENTS,
    *openclaw.REQUIREMENTS,
    *compatibility.REQUIREMENTS,
    *daemon.REQUIREMENTS,
    *graph.REQUIREMENTS,
    *skills.REQUIREMENTS,
    *models.REQUIREMENTS,
    *degradation.REQUIREMENTS,
)
