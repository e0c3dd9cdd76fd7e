"""What a person says on a Yeaft web client: messages, cancels, answers, group chat (002)."""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.approvals import Approval
from trunkline.control.edges.yeaft_web_answers import answer_of
from trunkline.control.edges.yeaft_web_forward import forward
from trunkline.control.edges.yeaft_web_visit import WIRE, Visit
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.ids import new_id
from trunkline.control.machine import Machine
from trunkline.control.session_records import NewMessage, NewSession, Session
from trunkline.wire.yeaft.web import Request

Json = dict[str, Any]

_KNOWN = ("text", "prompt", "attachments", "mentions", "groupId", "fileIds")


async def send_message(visit: Visit, request: Request) -> None:
    """`send_message`, and `chat` and `execute` of deployed clients."""
    session = await visit.session_of(request)
    await _say(visit, request, session, request.get("clientMessageId"), _KNOWN)


async def _say(
    visit: Visit, request: Request, session: Session, said: str | None, known: tuple[str, ...]
) -> None:
    text = request.get("text", "prompt") or ""
    if request.fields.get("fileIds"):
        raise InvalidRequest("files come as attachments, not as fileIds", code="UNSUPPORTED")
    attachments = request.attachments(limits.ATTACHMENTS_MAX, limits.ATTACHMENTS_BYTES_MAX)
    if not text and attachments:
        text = "Attached: " + ", ".join(one["name"] or "a file" for one in attachments)
    metadata: Json = {}
    if attachments:
        metadata["attachments"] = attachments
    mentions = request.texts("mentions", limits.PERSONS_PER_USER_MAX)
    if mentions is not None:
        metadata["mentions"] = mentions
    own = visit.own_fields(request, *known)
    if own:
        metadata[WIRE] = own
    said = said or new_id()
    message = _checked(message=text, metadata=metadata or None, client_message_id=said)
    # Its answer must find us listening, and its echo must find that it was ours.
    await visit.follow(session)
    visit.reader.said(said)
    await visit.core.sessions.send(visit.who, session.id, message)


def _checked(**fields: Any) -> NewMessage:
    try:
        return msgspec.convert(fields, NewMessage)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error


async def cancel(visit: Visit, request: Request) -> None:
    session = await visit.session_of(request)
    await visit.follow(session)
    await visit.core.sessions.cancel(visit.who, session.id, "user_cancelled")


async def answer(visit: Visit, request: Request) -> None:
    """The first answer wins; a later one is told so. The request's id is enough, if no other
    session asks under the same."""
    approval = await _question(visit, request.need("requestId"), request.get("conversationId"))
    if approval.state != "pending":
        raise Conflict("this question was answered already", code="ALREADY_ANSWERED")
    confirmed, given = answer_of(approval.request, request.fields)
    await visit.core.sessions.answer(visit.who, approval.id, confirmed, given, approval.session_id)


async def _question(visit: Visit, request_id: str, session_id: str | None) -> Approval:
    approvals = visit.core.approvals
    try:
        return await approvals.find(visit.who, request_id, session_id)
    except NotFound:
        # A client may be faster than the record of what it was just asked.
        for machine in list(visit.core.machines.online()):
            if visit.who.may_see(org_id=machine.org_id, user_id=machine.user_id):
                await visit.core.lifecycle.recorded(machine)
    return await approvals.find(visit.who, request_id, session_id)


# --- Groups ---------------------------------------------------------------------------------------


async def session_chat(visit: Visit, request: Request) -> None:
    """To a group of ours: into its conversation. A group that a Yeaft agent runs itself is that
    agent's business."""
    group, session = await _group_of(visit, request)
    if group is None:
        machine, session = await visit.target_of(request)
        if machine is None or machine.kind != WIRE:
            raise NotFound("group", request.get("groupId", "sessionId") or "")
        forward(visit, machine, request, session)
        return
    if session is None:
        session = await _newest(visit, group)
    said = request.get("clientMessageId", "id")
    await _say(visit, request, session, said, (*_KNOWN, "sessionId", "id"))


async def _group_of(visit: Visit, request: Request) -> tuple[Machine | None, Session | None]:
    """Our group that the message is for, and its conversation if that is named."""
    named = request.get("conversationId")
    session: Session | None = None
    if named is not None:
        try:
            session = await visit.core.sessions.get(visit.who, named)
        except NotFound as error:  # deployed clients make such ids up
            visit.core.refusals.note(visit.who, WIRE, error)
    machine = None if session is None else await visit.machine_of(session)
    if machine is not None and machine.kind == "group":
        return machine, session
    group_id = request.get("groupId", "sessionId")
    if group_id is None:
        return None, None
    try:
        machine = await visit.machine(group_id)
    except NotFound as error:
        visit.core.refusals.note(visit.who, WIRE, error)
        return None, None
    return (machine, None) if machine.kind == "group" else (None, None)


async def _newest(visit: Visit, group: Machine) -> Session:
    """The group's newest conversation that is open, or a new one. Ids sort by age."""
    for session_id in sorted(group.logs, reverse=True):
        return await visit.core.sessions.get(visit.who, session_id)
    return await visit.core.sessions.create(visit.who, NewSession(machine_id=group.id))
