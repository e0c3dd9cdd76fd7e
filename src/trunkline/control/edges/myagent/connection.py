"""The MyAgent edge: one client's connection (docs/protocols/myagent.md).

Turns frames into messages and does them one after the other; a message that cannot be done is
answered with an error, and the connection lives.
"""

import asyncio
from typing import TYPE_CHECKING

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.checked_json import decode
from trunkline.control.edges.myagent.commands import Commands
from trunkline.control.edges.myagent.outbound import Outbound
from trunkline.control.edges.myagent.pages import Track
from trunkline.control.edges.socket import Socket
from trunkline.control.errors import InvalidRequest, NotFound, TrunklineError
from trunkline.control.tasks import Serial
from trunkline.wire.errors import Malformed
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import Seen
from trunkline.wire.myagent.messages import Downlink, Uplink
from trunkline.wire.myagent.signed_state import StateRefused

if TYPE_CHECKING:
    from trunkline.control.edges.myagent.host import MyAgentHost

_log = structlog.get_logger(__name__)

_OWN_CHOICE = (names.CREATE_SESSION, names.RECONNECT, names.RECONNECT_WITH_STATE)
"""A client that begins with one of these says itself where it goes on."""
_KNOWN_FIELDS = {*Uplink.__struct_fields__, *Downlink.__struct_fields__}


class MyAgentConnection(Socket):
    """One client."""

    def __init__(
        self,
        host: "MyAgentHost",
        who: Principal,
        greeting: Downlink,
        *,
        typed: bool,
        is_anonymous: bool,
    ) -> None:
        """`is_anonymous`: it has shown nothing, and may be anybody."""
        core = host.core
        super().__init__(
            bytes_max=limits.MYAGENT_FRAME_BYTES_MAX,
            per_minute=core.settings.rate_limit_per_minute,
            unsent_max=limits.MYAGENT_UNSENT_BYTES_MAX,
            now=core.now,
        )
        self.who = who
        self.id = greeting.connection_id or ""
        self.next_heartbeat = self._now() + core.tuning.myagent_heartbeat_s
        self._core = core
        self._host = host
        self._greeting = greeting
        self.out = Outbound(
            self,
            Track(self.id, who.user_id),
            host.positions,
            host.feeds[typed],
            core.clock,
            core.tuning.myagent_sessions_max,
            core.tuning.myagent_pieces_s,
        )
        self._commands = Commands(host, who, self.out)
        self._work = Serial(core.tasks)
        self._is_paused = False
        self._opened_at = 0.0
        self._is_anonymous = is_anonymous
        self._has_chosen = False
        """The client has said itself where it goes on."""
        self._unfinished: dict[str, Seen] = {}
        """Sessions that the user's last connection broke off in mid-turn, and how far it was."""

    def opened(self) -> None:
        self._opened_at = self._now()
        self._host.connections[self.id] = self
        self.out.say(self._greeting)
        if not self._is_anonymous:
            self._inherit(self._host.departures.take(self.who.user_id))
            if self._host.may_recall(self.who.user_id):
                self._work.add(self._recall(), "myagent recall")

    async def _recall(self) -> None:
        """The server was started again: what its connections were at stands in the database."""
        left = await self._host.recall(self.who.user_id)
        if not self._has_chosen:
            self._inherit(left)

    def ended(self) -> None:
        self._host.connections.pop(self.id, None)
        busy = self.busy
        # How far it is, it does not say: what it acknowledged is sure, or else what it was sent.
        left = self._unfinished | dict.fromkeys(busy, Seen(self.id, None))
        self.out.left()
        if self._is_anonymous:
            return
        heir = next((one for one in self._host.connections.values() if self._is_heir(one)), None)
        if heir is None:
            self._host.departures.left(self.who.user_id, left)
        else:
            heir._inherit(left)

    @property
    def busy(self) -> list[str]:
        """The sessions that it follows in which a turn runs."""
        return [one for one in self.out.followed if self.out.is_busy(one)]

    def _is_heir(self, other: "MyAgentConnection") -> bool:
        """The client came back before it was noticed that it had gone."""
        return (
            other.who.user_id == self.who.user_id
            and not other._is_anonymous
            and other._opened_at >= self.last_seen
            and not other.out.followed
        )

    def _inherit(self, left: dict[str, Seen]) -> None:
        """Goes on with these soon, unless the client says itself where it goes on."""
        self._unfinished |= left
        if self._unfinished:
            wait_s = self._core.tuning.myagent_resume_s
            asyncio.get_running_loop().call_later(wait_s, self._resume)

    def _resume(self) -> None:
        """Goes on with what the user's last connection broke off."""
        if self._unfinished and self.is_open:
            self._work.add(self._commands.resume(self._unfinished), "myagent resume")
            self._unfinished = {}

    def beat(self, now: float, uptime_s: int) -> None:
        """Once a second: a heartbeat, when it is time for one."""
        if now < self.next_heartbeat:
            return
        self.next_heartbeat = now + self._core.tuning.myagent_heartbeat_s
        metadata = {"seq": self.out.seq + 1, "server_uptime_seconds": uptime_s}
        self.out.say(Downlink(names.HEARTBEAT, metadata=metadata))

    def take(self, text: str) -> None:
        self.count()
        try:
            message = decode(text.encode(), Uplink)
        except InvalidRequest as error:
            self.out.fault(None, "INVALID_MESSAGE", error.message)
            return
        self._core.surprises.saw_fields("myagent", text, _KNOWN_FIELDS)
        if message.event not in self._commands.known:
            self._unknown(message.event[: limits.NAME_CHARS_MAX])
            return
        if message.event in _OWN_CHOICE:
            self._has_chosen, self._unfinished = True, {}
        self._resume()
        self._work.add(self._do(message), "myagent message")
        self._hold_back(len(self._work) >= limits.MYAGENT_WAITING_MAX)

    def _unknown(self, event: str) -> None:
        """A word that other servers may know is no mistake of the client's."""
        self._core.surprises.saw("myagent", f"message {event}")
        problem = f"there is no event {event!r} from clients"
        if event.startswith("user."):
            self.out.notice("UNKNOWN_EVENT", problem, event)
        else:
            self.out.fault(None, "UNKNOWN_EVENT", problem)

    def _hold_back(self, paused: bool) -> None:
        """A client that asks faster than it is served is not read meanwhile."""
        if paused != self._is_paused:
            self._is_paused = paused
            self.pause(paused)

    async def _do(self, message: Uplink) -> None:
        """Protocol mistakes are the connection's fault, everything else its session's."""
        session_id = self._commands.session_of(message)
        try:
            await self._commands.do(message)
        except (Malformed, InvalidRequest) as error:
            code = getattr(error, "code", "INVALID_MESSAGE")
            self.out.fault(None, code, str(error), answers=message.event)
        except StateRefused as error:
            self.out.fault(None, error.code, str(error), answers=message.event)
        except TrunklineError as error:
            if isinstance(error, NotFound):
                self._core.refusals.note(self.who, "myagent", error)
            self.out.fault(session_id, error.code, error.message, answers=message.event)
        except Exception:
            _log.exception("a client's message could not be done", name=message.event)
            problem = "something went wrong here; the log says what"
            self.out.fault(None, "INTERNAL_ERROR", problem, answers=message.event)
        finally:
            if self._is_paused and len(self._work) < limits.MYAGENT_WAITING_MAX // 2:
                self._hold_back(False)
