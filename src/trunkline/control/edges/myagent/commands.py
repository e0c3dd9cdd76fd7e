"""What a MyAgent client can ask for, in the words of the control plane. Raises what is wrong;
the connection tells the client."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.edges.myagent.outbound import Outbound
from trunkline.control.edges.myagent.pages import Place
from trunkline.control.edges.myagent.returns import Returns
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.sessions.approvals import Approval
from trunkline.control.sessions.records import NewMessage, NewSession, Session
from trunkline.control.store import schema
from trunkline.wire.answers import answer_of, kind_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import confirm_id, confirm_id_of
from trunkline.wire.myagent.messages import Downlink, Json, Uplink

if TYPE_CHECKING:
    from trunkline.control.edges.myagent.host import MyAgentHost

T = TypeVar("T")

_approvals = schema.approvals

_QUESTIONS_LOOKED_AT = 1_000  # of a session, or of all: for the one that a step id names
_TEXTS = ("text", "message", "content", "question")


class Commands:
    """Of one connection."""

    def __init__(self, host: "MyAgentHost", who: Principal, out: Outbound) -> None:
        self._host = host
        self._core = host.core
        self._who = who
        self._out = out
        self._returns = Returns(host, who, out)
        self.known: dict[str, Callable[[Uplink], Awaitable[None]]] = {
            names.CREATE_SESSION: self._create,
            names.MESSAGE: self._message,
            names.RESPONSE: self._response,
            names.CANCEL: self._cancel,
            names.RECONNECT: self._reconnect,
            names.ACK: self._returns.acknowledge,
            names.REQUEST_STATE: self._export,
            names.RECONNECT_WITH_STATE: self._returns.restore,
            names.REPLAN: self._replan,
            names.CANCEL_PLAN: self._cancel,
            names.SOLVE_TASKS: self._decline,
            names.CANCEL_TASK: self._decline,
            names.RESTART_TASK: self._decline,
        }
        self.resume = self._returns.resume

    async def do(self, message: Uplink) -> None:
        await self.known[message.event](message)

    def session_of(self, message: Uplink) -> str | None:
        """The session that a message names; None where that is not what it is about."""
        if message.event in (names.CREATE_SESSION, names.ACK, names.RECONNECT_WITH_STATE):
            return None
        given = message.session_id
        if given is None and message.event == names.RECONNECT and isinstance(message.content, dict):
            given = message.content.get("session_id")
        return given[: limits.NAME_CHARS_MAX] if isinstance(given, str) and given else None

    async def _create(self, message: Uplink) -> None:
        given = message.content if isinstance(message.content, dict) else {}
        chosen = {
            name: given[name]
            for name in NewSession.__struct_fields__
            if given.get(name) is not None
        }
        self._out.check_room()
        session = await self._core.sessions.create(self._who, _convert(chosen, NewSession))
        name = session.agent_config.get("name") or await self._group_name(session)
        self._out.say(
            Downlink(
                names.SESSION_CREATED,
                session_id=session.id,
                content="The session is ready.",
                metadata={
                    "agent_name": name or session.title or session.runtime_type,
                    "agent_type": session.runtime_type,
                    "machine_id": session.machine_id,
                },
            )
        )
        await self._follow(session.id, Place(0))

    async def _group_name(self, session: Session) -> str | None:
        """Of the group that one talks to, where it is one."""
        assert session.machine_id is not None
        machine = await self._core.machines.get(session.machine_id)
        if machine.kind != "group":
            return None
        return (await self._core.groups.records.load(machine.id)).name

    async def _follow(self, session_id: str, place: Place) -> None:
        await self._out.follow(await self._core.log.open(session_id), place)

    async def _reached(self, message: Uplink) -> Session:
        """The session that a message is about, followed from now on if it was not."""
        session = await self._named(message)
        if session.status == "active" and not self._out.follows(session.id):
            await self._follow(session.id, Place(session.last_event_id))
        return session

    async def _named(self, message: Uplink) -> Session:
        session_id = self.session_of(message)
        if session_id is None:
            raise InvalidRequest("session_id is missing", code="MISSING_FIELD")
        return await self._core.sessions.get(self._who, session_id)

    async def _reconnect(self, message: Uplink) -> None:
        await self._returns.reconnect(await self._named(message), message)

    async def _export(self, message: Uplink) -> None:
        session = await self._named(message)
        await self._core.projection.settled(session.id)
        await self._returns.export(session)

    async def _message(self, message: Uplink) -> None:
        new = _new_message(message)
        session = await self._reached(message)
        if session.id in self._host.speaking:
            raise _turn_running()
        self._host.speaking.add(session.id)
        try:
            if await self._is_repeated(session, new):
                return
            if await self._is_busy(session):
                raise _turn_running()
            await self._core.sessions.send(self._who, session.id, new)
        finally:
            self._host.speaking.discard(session.id)

    async def _is_repeated(self, session: Session, new: NewMessage) -> bool:
        name = new.client_message_id
        return name is not None and await self._core.turns.named(session.id, name) is not None

    async def _is_busy(self, session: Session) -> bool:
        hosted = (await self._core.machines.of(session)).core.state.sessions.get(session.id)
        return hosted is not None and bool(hosted.session.turns)

    async def _cancel(self, message: Uplink) -> None:
        session = await self._reached(message)
        given = message.content.get("reason") if isinstance(message.content, dict) else None
        reason = given if isinstance(given, str) and given else "user_cancelled"
        reason = reason[: limits.NAME_CHARS_MAX]
        if not await self._core.sessions.cancel(self._who, session.id, reason):
            # No turn's end will say so.
            self._out.say(
                Downlink(
                    names.INTERRUPTED,
                    session_id=session.id,
                    content="Nothing was running.",
                    metadata={"reason": "idle", "answers": message.event},
                )
            )

    async def _replan(self, message: Uplink) -> None:
        """With a question it is a message; a plan alone cannot be made anew from here."""
        try:
            _new_message(message)
        except InvalidRequest:
            await self._decline(message)
        else:
            await self._message(message)

    async def _decline(self, message: Uplink) -> None:
        """Which task comes when is the agent's own decision."""
        text = "The agent decides about its tasks: say in a message what it should do."
        self._out.notice("NOT_SUPPORTED", text, message.event)

    async def _response(self, message: Uplink) -> None:
        if not isinstance(message.step_id, str) or not message.step_id:
            raise InvalidRequest("step_id is missing", code="MISSING_FIELD")
        session = await self._reached(message)
        approval = await _find_question(self._core, self._who, session.id, message.step_id)
        if approval.state != "pending":
            return  # too late, which is nobody's mistake: the log has told who was first
        asked = approval.request
        kind = kind_of(asked.get("kind"), asked.get("options"))
        answer = answer_of(message.content, kind, asked.get("options"))
        if answer is None:
            raise InvalidRequest("content is neither yes nor no, nor an answer")
        try:
            await self._core.sessions.answer(
                self._who,
                approval.id,
                answer.confirmed,
                answer.answer,
                session.id,
                scope=answer.scope,
                reason=answer.reason[: limits.ANSWER_REASON_CHARS_MAX],
            )
        except Conflict as error:
            if error.code != "ALREADY_ANSWERED":  # just now, by somebody faster
                raise


def _turn_running() -> Conflict:
    return Conflict(
        "a turn of this session runs: wait for its end, or cancel it", code="TURN_RUNNING"
    )


def _new_message(message: Uplink) -> NewMessage:
    """Text, or an object that has it under one of its names."""
    content, metadata = message.content, message.metadata
    text: Any = content
    attachments: Any = None
    if isinstance(content, dict):
        text = next((content[name] for name in _TEXTS if isinstance(content.get(name), str)), None)
        attachments = content.get("attachments")
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest("content must be a text, or an object with one", code="MISSING_FIELD")
    more: Json = dict(metadata) if isinstance(metadata, dict) else {}
    name = more.pop("client_message_id", None)
    if attachments is not None:
        more["attachments"] = attachments
    given = {"message": text, "metadata": more, "client_message_id": name}
    return _convert(given, NewMessage)


def _convert(value: Json, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"content: {error}") from error


class QuestionNotFound(NotFound):
    """Told by the step that the client named, audited by the id in it. `name` is the question's
    own id, which shows that there is one and is none of that client's business."""

    def __init__(self, step_id: str, asked: str, name: str) -> None:
        super().__init__("approval", step_id)
        self.asked = asked
        self.name = name


async def _find_question(core: Core, who: Principal, session_id: str, step_id: str) -> Approval:
    """The question of that session, open or answered, from the step id that the client names:
    `wire/myagent/steps` makes it of the question's own and its session. If it is none of these,
    everybody's are looked through, so that who names somebody else's is audited."""
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
    rows = await core.store.all(query)
    return next((name for session_id, name in rows if confirm_id(session_id, name) == asked), None)
