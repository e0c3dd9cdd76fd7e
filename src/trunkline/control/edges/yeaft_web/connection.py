"""One Yeaft web client's connection (docs/protocols/yeaft.md).

Reads one message after the other and answers in that order, but for what a machine is asked; a
message that cannot be served is answered with `error`, and the connection goes on.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.edges.socket import Socket
from trunkline.control.edges.yeaft_web import catalog, conversations, lists, talk
from trunkline.control.edges.yeaft_web.reader import WebReader
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit, pass_on
from trunkline.control.errors import Forbidden, LimitReached, NotFound, TrunklineError, Unauthorized
from trunkline.control.machines.machine import Machine
from trunkline.control.tasks import Serial
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import fields
from trunkline.wire.yeaft.close_codes import CloseCode
from trunkline.wire.yeaft.outward_frames import encode, envelope
from trunkline.wire.yeaft.web import DEPLOYED_FIRST, Request, role_of

if TYPE_CHECKING:
    from trunkline.control.edges.yeaft_web.host import YeaftWebHost

_log = structlog.get_logger(__name__)

T = TypeVar("T")
Handler = Callable[[Visit, Request], Awaitable[None]]

_ASKING_MAX = 4  # of one client at once; further ones wait in line with everything else

WORKBENCH: Final = {"workbenchRouteProtocol": 1}
"""Pages show terminal and files only to a server that says so; what they ask of an agent there is
passed on to it."""


async def _hello(visit: Visit, request: Request) -> None:
    """Everything is plain text: TLS is the transport's business."""
    if request.fields.get("positions") is True:
        visit.reader.wants_positions = True
    is_deployed = "workbenchRouteProtocol" in request.fields  # others do not know of it
    if is_deployed and not visit.reader.deployed:
        await visit.reader.speak_deployed()
    visit.tell("client_hello_ack", request, plaintextOk=True, **WORKBENCH)


async def _left_alone(visit: Visit, request: Request) -> None:
    """What a page measures of itself: there is nobody here to whom that is of use."""


async def _ping(visit: Visit, request: Request) -> None:
    visit.tell("pong", request)


HANDLERS: Final[dict[str, Handler]] = {
    "client_hello": _hello,
    "ping": _ping,
    "send_message": talk.send_message,
    "chat": talk.send_message,
    "execute": talk.send_message,
    "cancel_execution": talk.cancel,
    "ask_user_answer": talk.answer,
    "yeaft_ask_user_answer": talk.answer,
    "yeaft_session_chat": talk.session_chat,
    "create_conversation": conversations.create,
    "resume_conversation": conversations.resume,
    "delete_conversation": conversations.delete,
    "select_conversation": conversations.select,
    "sync_messages": conversations.sync_messages,
    "refresh_conversation": conversations.refresh,
    "ping_session": conversations.ping_session,
    "update_conversation_settings": conversations.update_settings,
    "list_agents": lists.list_agents,
    "get_agents": lists.get_agents,
    "select_agent": lists.select_agent,
    "list_conversations": lists.list_conversations,
    "get_conversations": lists.list_conversations,
    "list_history_sessions": lists.list_history_sessions,
    "list_folders": lists.list_folders,
    "pin_session": catalog.pin,
    "unpin_session": catalog.pin,
    "set_session_ui_metadata": catalog.set_metadata,
    "reorder_session_catalog": catalog.reorder,
    "update_file_tabs": catalog.update_files,
    "restore_file_tabs": catalog.restore_files,
    "perf_trace_events": _left_alone,
}
"""What is understood here; everything else is for an agent."""


class YeaftWeb(Socket):
    """The socket, and what waits on it."""

    def __init__(self, host: "YeaftWebHost", secret: str | None) -> None:
        super().__init__(
            bytes_max=limits.FRAME_BYTES_MAX,
            per_minute=host.core.settings.rate_limit_per_minute,
            unsent_max=limits.YEAFT_UNSENT_BYTES_MAX,
        )
        self.host = host
        self._requests_bytes_max = host.core.tuning.yeaft_requests_bytes_max
        self._secret = secret
        self.reader = WebReader(self, host.feeds)
        self.visit: Visit | None = None
        self._hearing: set[str] = set()
        self._work = Serial(host.core.tasks)
        self._waiting_chars = 0
        self._asking = 0
        self._is_paused = False
        self._is_listing = False

    def opened(self) -> None:
        self.host.clients.add(self)
        self._pace()
        self._work.add(self._admit(), "yeaft web client")

    def take(self, text: str) -> None:
        self.count()
        self._waiting_chars += len(text)
        self._work.add(self._take(text), "yeaft web client")
        self._pace()

    def _pace(self) -> None:
        """Reads on only while little waits, and nothing of somebody who is not known."""
        is_full = len(self._work) >= limits.YEAFT_REQUESTS_MAX
        is_large = self._waiting_chars >= self._requests_bytes_max
        is_due = self.visit is None or is_full or is_large
        if is_due is not self._is_paused:
            self._is_paused = is_due
            self.pause(is_due)

    def ended(self) -> None:
        self.reader.leave_all()
        for user_id in self._hearing:
            self.host.core.relay.leave(WIRE, user_id, self._heard)
        self._hearing.clear()
        self.host.ended(self)

    async def _admit(self) -> None:
        try:
            if self._secret is None:
                raise Unauthorized("Authentication required")
            who = await self.host.core.auth.identify(self._secret)
            if not self.is_open:
                return
            who.require("read")
            self._secret = None
            await lists.list_agents(self._enter(who))
        except (Unauthorized, Forbidden) as error:
            _log.warning("a Yeaft web client was not let in", reason=error.message)
            self.send(encode({"type": "auth_result", "success": False, "error": error.message}))
            self.close(CloseCode.REFUSED, "authentication failed")
        except LimitReached as error:
            _log.warning("a Yeaft web client was not let in", reason=error.message)
            self.close(CloseCode.RATE_LIMITED, error.message)
        except Exception as error:
            self.failed(error)
        else:
            self._pace()

    def _enter(self, who: Principal) -> Visit:
        self.host.core.connections.known(self.transport, who.user_id)
        self.visit = visit = Visit(self, who)
        self.hear(who.user_id)
        granted = {"success": True, "sessionKey": None, "acceptPlaintext": True}
        known = {"role": role_of(who.role), "userId": who.user_id}
        offered = {"yeaftSessionInventoryComplete": True, **WORKBENCH}
        self.send(encode({"type": "auth_result", **granted, **known, **offered}))
        return visit

    async def _take(self, text: str) -> None:
        if self.visit is not None and self.is_open:
            await self._serve(self.visit, text)
        self._waiting_chars -= len(text)
        self._pace()

    async def _serve(self, visit: Visit, text: str) -> None:
        request: Request | None = None
        try:
            request = Request(text)
            if request.type in DEPLOYED_FIRST and not self.reader.deployed:
                await self.reader.speak_deployed()
            self._note_fields(request)
            await HANDLERS.get(request.type, pass_on)(visit, request)
        except Exception as error:
            self._cannot(visit, request, error)

    def _note_fields(self, request: Request) -> None:
        """What no page is known to say, whether it is read here or travels on. Of messages that
        are not known, all is new."""
        handler = HANDLERS.get(request.type)
        if request.is_known if handler is None else handler is not _left_alone:
            for name in request.fields.keys() - fields.OF_CLIENTS:
                self.host.core.surprises.saw(WIRE, f"field {name}")

    async def beside(
        self,
        visit: Visit,
        request: Request,
        asking: Coroutine[Any, Any, T],
        then: Callable[[T], Coroutine[Any, Any, None]],
    ) -> None:
        """Other messages are served while a machine is asked, which may take its time: a person's
        answers and cancels are among them. What follows is done in line with them."""
        if self._asking >= _ASKING_MAX:
            await then(await asking)
            return
        self._asking += 1
        self.host.core.tasks.spawn(self._ask(visit, request, asking, then), "yeaft web client")

    async def _ask(
        self,
        visit: Visit,
        request: Request,
        asking: Coroutine[Any, Any, T],
        then: Callable[[T], Coroutine[Any, Any, None]],
    ) -> None:
        async def go_on(found: T) -> None:
            try:
                if self.is_open:
                    await then(found)
            except Exception as error:
                self._cannot(visit, request, error)
            self._pace()

        try:
            self._work.add(go_on(await asking), "yeaft web client")
        except Exception as error:
            self._cannot(visit, request, error)
        finally:
            self._asking -= 1

    def _cannot(self, visit: Visit, request: Request | None, error: Exception) -> None:
        """Tells why a message cannot be served."""
        match error:
            case Malformed():
                self.host.core.metrics.malformed += 1
                self._refuse(visit, request, "INVALID_REQUEST", str(error))
            case TrunklineError():
                if isinstance(error, NotFound):
                    self.host.core.refusals.note(visit.who, WIRE, error)
                self._refuse(visit, request, error.code, error.message)
            case _:
                _log.error("a web client's message could not be handled", exc_info=error)
                why = "something went wrong here; the log says what"
                self._refuse(visit, request, "INTERNAL_ERROR", why)

    def _refuse(self, visit: Visit, request: Request | None, code: str, message: str) -> None:
        fields = {} if request is None else request.correlation
        if request is not None:
            named = request.fields.get("conversationId") or visit.conversation_id
            if isinstance(named, str) and len(named) <= limits.ID_CHARS_MAX:
                fields["conversationId"] = named
            fields["request"] = request.name[: limits.NAME_CHARS_MAX]
        self.send(envelope("error", code=code, message=message, **fields))

    def machine_changed(self, machine: Machine, came_or_went: bool) -> None:
        """A machine that this person may see is in another state."""
        self.send(envelope("agent_status", agentId=machine.id, state=lists.state_of(machine)))
        if came_or_went:
            self.list_soon()

    def list_soon(self) -> None:
        """What its lists hold is different now."""
        if self.visit is not None and not self._is_listing:
            self._is_listing = True
            # Among its requests: a list that was read before another is sent before it.
            self._work.add(self._list(self.visit), "yeaft agents list")

    async def _list(self, visit: Visit) -> None:
        self._is_listing = False  # from here on, another change is another list
        await lists.list_agents(visit)

    def hear(self, user_id: str) -> None:
        """Hears what machines of that user say outside of any session."""
        if user_id not in self._hearing and self.is_open:
            self._hearing.add(user_id)
            self.host.core.relay.listen(WIRE, user_id, self._heard)

    def _heard(self, machine_id: str, text: str) -> None:
        """What a Yeaft agent says outside of any session, as it came. Deployed clients need to
        know whose it is, and agents do not say."""
        body = text.encode(errors="replace")
        if self.reader.deployed and b'"agentId"' not in body and body.startswith(b"{"):
            body = b'{"agentId":' + encode(machine_id) + b"," + body[1:].lstrip()
        self.send(body)
