"""A person's Yeaft web client, once it is known whose: what the handlers of its messages share.

A handler gets a request and a visit, and says things through `send`; it knows no socket.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Forbidden, InvalidRequest, NotFound, TooLarge
from trunkline.control.ids import is_id
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.records import Session
from trunkline.wire.commands import Forward
from trunkline.wire.yeaft.outward_frames import encode, envelope
from trunkline.wire.yeaft.web import Request

if TYPE_CHECKING:
    from trunkline.control.edges.yeaft_web.connection import YeaftWeb

T = TypeVar("T")

WIRE = "yeaft"
Json = dict[str, Any]

_SHOWN_TO_OTHERS = ("list_history_sessions", "list_folders")


class Visit:
    """One client of one person."""

    def __init__(self, client: "YeaftWeb", who: Principal) -> None:
        self.core = client.host.core
        self.who = who
        self.reader = client.reader
        self.send = client.send
        self.agent_id: str | None = None
        """The agent that a deployed client has selected."""
        self.conversation_id: str | None = None
        self._client = client

    def tell(self, kind: str, request: Request | None = None, /, **fields: Any) -> None:
        """An envelope for this client, with what it gave its request to know the answer by."""
        known = {} if request is None else request.correlation
        self.send(envelope(kind, **fields, **known))

    async def beside(
        self,
        request: Request,
        asking: Coroutine[Any, Any, T],
        then: Callable[[T], Coroutine[Any, Any, None]],
    ) -> None:
        """What a machine is asked, and what is done with its answer: nobody waits for it."""
        await self._client.beside(self, request, asking, then)

    def conversation_of(self, request: Request) -> str:
        """The conversation that it names, or the selected one."""
        session_id = request.get("conversationId") or self.conversation_id
        if session_id is None:
            raise InvalidRequest("No conversation selected", code="NO_CONVERSATION")
        return session_id

    async def session_of(self, request: Request) -> Session:
        return await self.core.sessions.get(self.who, self.conversation_of(request))

    async def machine(self, machine_id: str) -> Machine:
        """A machine of any kind that this person may see."""
        if len(machine_id) > limits.ID_CHARS_MAX:
            raise NotFound("machine", machine_id)
        machine = await self.core.machines.named(machine_id)
        if not self.who.may_see(org_id=machine.org_id, user_id=machine.user_id):
            raise NotFound("machine", machine_id)
        return machine

    async def machine_of(self, session: Session) -> Machine | None:
        """The machine that a session is pinned to; None if that was removed."""
        if session.machine_id is None:
            return None
        return await self.core.machines.get(session.machine_id)

    async def is_busy(self, session: Session) -> bool:
        """Whether it has an active turn."""
        machine = await self.machine_of(session)
        return machine is not None and machine.core.is_busy(session.id)

    async def target_of(self, request: Request) -> tuple[Machine | None, Session | None]:
        """Where a request goes that names an agent: the pin of its conversation wins."""
        session_id = request.get("conversationId")
        if session_id is not None and is_id(session_id):
            session = await self.core.sessions.get(self.who, session_id)
            return await self.machine_of(session), session
        agent_id = request.get("agentId") or self.agent_id
        return (None if agent_id is None else await self.machine(agent_id)), None

    async def agent_for(self, request: Request) -> tuple[Machine | None, Session | None]:
        """The same for what only an agent understands. Where nobody is named, it is for the agent
        of the selected conversation, or for the only one that is online."""
        machine, session = await self.target_of(request)
        if machine is None and self.conversation_id is not None:
            selected = await self.core.sessions.get(self.who, self.conversation_id)
            machine = await self.machine_of(selected)
        if machine is None:
            online = [
                one
                for one in self.core.machines.online()
                if one.kind == WIRE and one.user_id == self.who.user_id
            ]
            machine = online[0] if len(online) == 1 else None
        return machine, session

    async def group_chats(self, agent_ids: list[str]) -> dict[str, list[Json]]:
        """Those that each agent runs itself, as far as it has said."""
        return await self._client.host.group_chats.of(agent_ids)

    def catalog_changed(self) -> None:
        """Tells all of this person's pages how conversations are listed now."""
        self._client.host.catalog_changed(self.who.user_id)

    def own_fields(self, request: Request, *known: str) -> Json:
        """The fields that only an agent knows; they travel with the command."""
        fields = request.rest(*known)
        self.check_size(request, fields)
        return fields

    def check_size(self, request: Request, *parts: Any) -> None:
        """Raises if that much of a message is more than may travel unread."""
        if len(encode(parts)) > limits.YEAFT_FIELDS_BYTES_MAX:
            raise TooLarge(f"{request.name} has more than {limits.YEAFT_FIELDS_BYTES_MAX} bytes")

    async def follow(self, session: Session, position: int | None = None) -> None:
        """Follows a conversation from that position; from now on if it is not followed yet."""
        machine = await self.machine_of(session)
        log = await self.core.sessions.readable(self.who, session.id)
        # Right before it is followed: what nobody follows is swept.
        self._client.host.pin(session.id, machine)
        await self.reader.follow(log, position)

    def forward(self, machine: Machine, request: Request, session: Session | None = None) -> None:
        """To that agent, bytes unchanged; its answer comes back the way that all it says outside of
        sessions comes."""
        self._check_may_forward(machine, request, session)
        self._client.hear(machine.user_id)
        session_id = "" if session is None else session.id
        with machine.input() as core:
            core.check_room(len(request.text))
            core.forward(Forward(session_id, WIRE, request.text))

    def _check_may_forward(
        self, machine: Machine, request: Request, session: Session | None
    ) -> None:
        """What is passed on unread leaves no trace that the agent's user could see, so it is for
        them alone. Others look, and speak where the conversation's log says so."""
        self.who.require("talk")
        if request.is_workbench:
            self.who.require("admin")
        is_logged = session is not None and request.type == "yeaft_session_chat"
        is_own = machine.user_id == self.who.user_id
        if not is_own and not is_logged and request.type not in _SHOWN_TO_OTHERS:
            raise Forbidden(f"{request.name!r} is for the agent's own user")


async def pass_on(visit: Visit, request: Request) -> None:
    """A message that only an agent understands: settings, and every type not known here."""
    machine, session = await visit.agent_for(request)
    if machine is None or machine.kind != WIRE or not request.is_known:
        visit.core.surprises.saw(WIRE, f"message {request.name}")
    if machine is None:
        raise InvalidRequest(
            f"{request.name!r} is not known here; with an agentId it goes to that agent",
            code="UNKNOWN_TYPE",
        )
    if machine.kind != WIRE:
        raise InvalidRequest(
            f"{request.name!r} is for Yeaft agents, and this is a machine of kind {machine.kind!r}",
            code="UNSUPPORTED",
        )
    if session is not None:
        await visit.follow(session)
    visit.forward(machine, request, session)
