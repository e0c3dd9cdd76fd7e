"""What the source documents promise, entry by entry, and the check that each promise has a test.

A test names what it proves with `@pytest.mark.proves("<id>")`; `docs/protocols/coverage.md` is
made from both by `python -m tests.requirements.coverage`.
"""

from tests.requirements.agp import connection as agp_connection
from tests.requirements.agp import messages as agp_messages
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
    *agp_connection.REQUIREMENTS,
    *agp_messages.REQUIREMENTS,
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
