"""Which question a MyAgent client answers: from the step id that it names to the record.

The way back from `wire/myagent/steps`, which makes the id in a step of the question's own and its
session. The session's own questions are looked through, then everybody's, so that who names
somebody else's is audited.
"""

from sqlalchemy import ColumnElement, select

from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.errors import NotFound
from trunkline.control.sessions.approvals import Approval
from trunkline.control.store import schema
from trunkline.wire.myagent.identifiers import confirm_id, confirm_id_of

_QUESTIONS_LOOKED_AT = 1_000  # of a session, or of all: for the one that a step id names

_approvals = schema.approvals


class QuestionNotFound(NotFound):
    """Told by the step that the client named, audited by the id in it. `name` is the question's
    own id, which shows that there is one and is none of that client's business."""

    def __init__(self, step_id: str, asked: str, name: str) -> None:
        super().__init__("approval", step_id)
        self.asked = asked
        self.name = name


async def find_question(core: Core, who: Principal, session_id: str, step_id: str) -> Approval:
    """The question of that session, open or answered."""
    asked = confirm_id_of(step_id)
    if asked is None:
        raise NotFound("approval", step_id)
    await core.projection.settled(session_id)  # who answers what was just shown must find it
    name = await _name_of(core, asked, _approvals.c.session_id == session_id)
    if name is None:
        raise QuestionNotFound(step_id, asked, await _name_of(core, asked) or asked)
    return await core.approvals.find(who, name, session_id)


async def _name_of(core: Core, asked: str, *which: ColumnElement[bool]) -> str | None:
    """The machine's own id of the one, among the newest of these, whose step has that id."""
    query = (
        select(_approvals.c.session_id, _approvals.c.request_id)
        .where(*which)
        .order_by(_approvals.c.id.desc())
        .limit(_QUESTIONS_LOOKED_AT)
    )
    async with core.store.read() as connection:
        rows = (await connection.execute(query)).all()
    return next((name for session_id, name in rows if confirm_id(session_id, name) == asked), None)
