"""Routes of approvals: what waits for a person, over all sessions."""

from typing import Any, Literal

import msgspec

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging
from trunkline.control.sessions.approvals import Approval

routes = Routes("approvals")


class ApprovalQuery(Paging, kw_only=True):
    state: Literal["pending", "confirmed", "denied", "all"] = "pending"
    session_id: Id | None = None


class ApprovalAnswer(msgspec.Struct, kw_only=True):
    """`answer`: what the person chose or wrote, where the question asks for it. `session_id`:
    whose question it is, where it is named by its machine's id, which another may use as well."""

    confirmed: bool
    answer: Any = None
    session_id: Id | None = None


@routes.get("/approvals")
async def list_approvals(core: Core, who: Principal, query: ApprovalQuery) -> Page[Approval]:
    """List the questions of sessions to people, oldest first; by default those that wait.

    A person's in a group is listed once, as the group's; with its own session as `session_id`, as
    that one's.
    """
    state = None if query.state == "all" else query.state
    found = await core.approvals.page(
        who,
        state,
        query.limit + 1,
        query.cursor,
        session_id=query.session_id,
        members=query.session_id is not None,
    )
    items = found[: query.limit]
    return Page(items, items[-1].id if len(found) > query.limit else None)


@routes.post("/approvals/{approval_id}")
async def answer_approval(
    core: Core, who: Principal, approval_id: str, body: ApprovalAnswer
) -> Approval:
    """Answer a question. The first answer wins."""
    return await core.sessions.answer(
        who, approval_id, body.confirmed, body.answer, session_id=body.session_id
    )
