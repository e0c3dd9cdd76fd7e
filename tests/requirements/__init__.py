"""What the source documents require, entry by entry, and the check that each entry has a test
and a page of ours that states it.

A test names what it proves with `@pytest.mark.proves("<id>")`; `docs/protocols/coverage.md` is
made from both by `python -m tests.requirements.coverage`.
"""

from tests.requirements.agp import connection as agp_connection
from tests.requirements.agp import messages as agp_messages
from tests.requirements.agp import notes as agp_notes
from tests.requirements.agp import second_round as agp_second_round
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
from tests.requirements.myagent import concepts as myagent_concepts
from tests.requirements.myagent import events as myagent_events
from tests.requirements.myagent import notes as myagent_notes
from tests.requirements.myagent import operation as myagent_operation
from tests.requirements.myagent import second_round as myagent_second_round
from tests.requirements.requirement import Requirement
from tests.requirements.semibot import (
    connection,
    downlink,
    operation,
    recovery,
    second_round,
    uplink,
)
from tests.requirements.yeaft import conversations as yeaft_conversations
from tests.requirements.yeaft import envelopes as yeaft_envelopes
from tests.requirements.yeaft import notes as yeaft_notes
from tests.requirements.yeaft import page as yeaft_page
from tests.requirements.yeaft import second_round_agents as yeaft_second_round_agents

MANIFEST: tuple[Requirement, ...] = (
    *connection.REQUIREMENTS,
    *uplink.REQUIREMENTS,
    *downlink.REQUIREMENTS,
    *recovery.REQUIREMENTS,
    *operation.REQUIREMENTS,
    *myagent_concepts.REQUIREMENTS,
    *myagent_events.REQUIREMENTS,
    *myagent_operation.REQUIREMENTS,
    *yeaft_envelopes.REQUIREMENTS,
    *yeaft_conversations.REQUIREMENTS,
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
    *second_round.REQUIREMENTS,
    *myagent_notes.REQUIREMENTS,
    *myagent_second_round.REQUIREMENTS,
    *yeaft_notes.REQUIREMENTS,
    *yeaft_page.REQUIREMENTS,
    *yeaft_second_round_agents.REQUIREMENTS,
    *agp_notes.REQUIREMENTS,
    *agp_second_round.REQUIREMENTS,
)
