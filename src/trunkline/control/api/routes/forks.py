"""The route that copies a session."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.sessions.forking import NewFork
from trunkline.control.sessions.records import Session

forks = Routes("sessions")


@forks.post("/sessions/{session_id}/fork", status=201, scope="talk", audit="session.forked")
async def fork_session(
    core: Core, who: Principal, session_id: str, body: NewFork = NewFork()
) -> Session:
    """Make a copy of a session that goes its own way.

    It has the conversation up to the end of `from_turn`, or up to `before_turn`, the same agent,
    settings, machine and folder, and the agent remembers what it remembered there, tool calls and
    results included. With a worktree it gets one of its own, with the files as they were at the end
    of that turn; where its machine has not kept them, a `session_status` of the copy says as of
    when they are. Nothing changes in the first session. The same `client_id` twice has one effect.
    """
    return await core.forking.fork(who, session_id, body)
