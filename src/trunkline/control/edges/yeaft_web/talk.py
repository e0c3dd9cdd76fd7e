"""What a person says on a Yeaft web client: messages, cancels, answers, group chat."""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.ids import new_id
from trunkline.control.log import events
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.records import NewMessage, NewSession, Session
from trunkline.control.sessions.saying import shown_of
from trunkline.wire.answers import Answer, kind_of
from trunkline.wire.answers import answer_of as meaning_of
from trunkline.wire.yeaft.web import ATTACHMENT, Request

Json = dict[str, Any]

_WITH_WORDS = ("input", "select")
_KNOWN = ("text", "prompt", "attachments", "fileIds")


async def send_message(visit: Visit, request: Request) -> None:
    """`send_message`, and `chat` and `execute` of deployed clients."""
    session = await visit.session_of(request)
    await _say(visit, request, session, request.get("clientMessageId"))


async def _say(visit: Visit, request: Request, session: Session, said: str | None) -> None:
    said = said or new_id()
    file_ids = _file_ids(request)
    if file_ids and await visit.core.turns.named(session.id, said) is None:
        request.attach(visit.core.uploads.attachments(visit.who.user_id, file_ids))
    machine = await visit.machine_of(session)
    is_yeafts = machine is not None and machine.kind == WIRE
    message = _message(request, said, _metadata(visit, request, is_yeafts))
    if is_yeafts:  # it gets the files, and no words that nobody said
        message.message = request.get("text", "prompt") or ""
    # Its answer must find us listening, and its echo must find that it was ours.
    await visit.follow(session)
    visit.reader.said(said)
    await visit.core.sessions.send(visit.who, session.id, message)
    visit.core.uploads.remove(visit.who.user_id, file_ids)


def _file_ids(request: Request) -> list[str]:
    return request.texts("fileIds", limits.ATTACHMENTS_MAX) or []


def _message(request: Request, said: str, metadata: Json) -> NewMessage:
    """Whatever it goes to, a message has words."""
    text = request.get("text", "prompt") or ""
    if not text and "attachments" in metadata:
        text = "Attached: " + ", ".join(one["name"] or "a file" for one in metadata["attachments"])
    fields = {"message": text, "metadata": metadata or None, "client_message_id": said}
    try:
        return msgspec.convert(fields, NewMessage)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error


def _metadata(visit: Visit, request: Request, is_yeafts: bool) -> Json:
    """What a message holds besides its words; a Yeaft agent may know what all of it means."""
    metadata: Json = {}
    attached = request.attachments(limits.ATTACHMENTS_MAX, limits.ATTACHMENTS_BYTES_MAX)
    own = request.rest(*_KNOWN)
    if is_yeafts:
        own |= request.correlation
    else:
        attached = [{name: one[name] for name in ATTACHMENT} for one in attached]
        if request.texts("mentions", limits.PERSONS_PER_USER_MAX) is not None:
            metadata["mentions"] = own.pop("mentions")
    if attached:
        metadata["attachments"] = attached
    if own:
        metadata[WIRE] = own
    visit.check_size(request, own, [{**one, "base64": None} for one in attached])
    return metadata


async def cancel(visit: Visit, request: Request) -> None:
    session = await visit.session_of(request)
    await visit.follow(session)
    await visit.core.sessions.cancel(visit.who, session.id, "user_cancelled")


async def answer(visit: Visit, request: Request) -> None:
    """The first answer wins; a later one is told so. The request's id is enough, if no other
    session asks under the same."""
    approval = await visit.core.approvals.find(
        visit.who, request.need("requestId"), request.get("conversationId")
    )
    if approval.state != "pending":
        raise Conflict("this question was answered already", code="ALREADY_ANSWERED")
    meant = answer_of(approval.request, request.fields)
    await visit.core.sessions.answer(
        visit.who,
        approval.id,
        meant.confirmed,
        meant.answer,
        approval.session_id,
        scope=meant.scope,
        reason=meant.reason[: limits.ANSWER_REASON_CHARS_MAX],
    )


async def session_chat(visit: Visit, request: Request) -> None:
    """To a group of ours: into its conversation. A group that a Yeaft agent runs itself is that
    agent's business."""
    unseen: dict[str, NotFound] = {}
    try:
        await _session_chat(visit, request, unseen)
    except NotFound as error:
        unseen.pop(error.name, None)  # it is noted where it is answered
        raise
    finally:
        for one in unseen.values():
            visit.core.refusals.note(visit.who, WIRE, one)


async def _session_chat(visit: Visit, request: Request, unseen: dict[str, NotFound]) -> None:
    group, session = await _group_of(visit, request, unseen)
    if group is None:
        machine, session = await visit.agent_for(request)
        if machine is None or machine.kind != WIRE:
            raise NotFound("group", request.get("groupId", "sessionId") or "")
        file_ids = _file_ids(request)
        if file_ids:  # it cannot fetch them from here
            request.attach(visit.core.uploads.attachments(visit.who.user_id, file_ids))
            request.attachments(limits.ATTACHMENTS_MAX, limits.ATTACHMENTS_BYTES_MAX)
            request.rewrite(without="fileIds")
        await _say_there(visit, request, machine, session)
        visit.core.uploads.remove(visit.who.user_id, file_ids)
        return
    if session is None:
        session = await _newest(visit, group)
    await _say(visit, request, session, request.get("clientMessageId", "id"))


async def _say_there(
    visit: Visit, request: Request, machine: Machine, session: Session | None
) -> None:
    """To a group that a Yeaft agent runs itself: as it came. In a conversation of ours, whoever
    reads along sees what was said; when it is answered is the agent's business, so it opens no
    turn."""
    if session is None:
        visit.forward(machine, request)
        return
    said = request.get("clientMessageId", "id")
    if said is None or len(said) > limits.NAME_CHARS_MAX:
        said = new_id()
    text = (request.get("text", "prompt") or "")[: limits.MESSAGE_CHARS_MAX]
    metadata = {"attachments": request.fields.get("attachments")}
    shown = shown_of(NewMessage(message=text, metadata=metadata, client_message_id=said))
    log = await visit.core.sessions.readable(visit.who, session.id)
    await visit.follow(session)
    visit.reader.said(said)
    visit.forward(machine, request, session)
    now_ms, who = visit.core.clock(), visit.who.user_id
    line = events.make("user_message", now_ms, content=text, user_id=who, **shown)
    visit.core.log.append(log, line)


async def _group_of(
    visit: Visit, request: Request, unseen: dict[str, NotFound]
) -> tuple[Machine | None, Session | None]:
    """Our group that the message is for, and its conversation if that is named. `unseen`: gets what
    it names that this person may not see."""
    named = request.get("conversationId")
    session: Session | None = None
    if named is not None:
        try:
            session = await visit.core.sessions.get(visit.who, named)
        except NotFound as error:  # deployed clients make such ids up
            unseen[named] = error
    machine = None if session is None else await visit.machine_of(session)
    if machine is not None and machine.kind == "group":
        return machine, session
    group_id = request.get("groupId", "sessionId")
    if group_id is None:
        return None, None
    try:
        machine = await visit.machine(group_id)
    except NotFound:
        unseen[group_id] = NotFound("group", group_id)
        return None, None
    return (machine, None) if machine.kind == "group" else (None, None)


async def _newest(visit: Visit, group: Machine) -> Session:
    """The group's newest conversation that is open, or a new one. Ids sort by age."""
    for session_id in sorted(group.logs, reverse=True):
        return await visit.core.sessions.get(visit.who, session_id)
    return await visit.core.sessions.create(visit.who, NewSession(machine_id=group.id))


def answer_of(question: Json, fields: Json) -> Answer:
    """Whether it is a yes, and what was said; nothing said means no. `answer` holds it; deployed
    clients send `answers`, by the question's text (docs/protocols/yeaft.md#questions)."""
    given = fields.get("answer")
    if given is None:
        given = fields.get("answers")
        if given is not None and not isinstance(given, dict):
            raise InvalidRequest("answers must be an object of question and answer")
    kind = kind_of(question.get("kind"), question.get("options"))
    if kind in _WITH_WORDS and _is_yeafts(question):
        return Answer(given is not None, given)
    only = _only(given)
    if only is None or (kind not in _WITH_WORDS and only == ""):
        return Answer(False)
    if kind in _WITH_WORDS:
        return Answer(True, only)
    meaning = meaning_of(only, "approve", question.get("options"))
    if meaning is None:
        raise InvalidRequest("this question is answered with yes or no", code="YES_OR_NO")
    return meaning._replace(answer=only) if isinstance(only, str) else meaning


def _is_yeafts(question: Json) -> bool:
    """A Yeaft agent's own question: its answers go back as they came."""
    raw = question.get("raw")
    return isinstance(raw, dict) and raw.get("protocol") == "yeaft"


def _only(given: Any) -> Any:
    """The answer to the only question there is."""
    if isinstance(given, dict) and len(given) == 1:
        (given,) = given.values()
    if isinstance(given, list) and len(given) == 1:
        (given,) = given
    return given
