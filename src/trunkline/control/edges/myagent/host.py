"""What stands behind every MyAgent connection: who is let in, heartbeats, the end."""

import asyncio
from functools import partial

from sqlalchemy import func, select

from trunkline import __version__, limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.door.door import refuse
from trunkline.control.door.head import MYAGENT, Head, secret_of
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.myagent.connection import MyAgentConnection
from trunkline.control.edges.myagent.departures import Departures
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.edges.myagent.translation import translation
from trunkline.control.errors import TrunklineError, Unauthorized
from trunkline.control.ids import new_id
from trunkline.control.log.feeds import Feeds
from trunkline.control.store import schema
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.close_codes import CloseCode
from trunkline.wire.myagent.codec import timestamp
from trunkline.wire.myagent.identifiers import Seen
from trunkline.wire.myagent.messages import Downlink

_PURGE_EVERY_SWEEPS = 60
_QUERY = frozenset(("token", "shape"))
_BEARER = "bearer."


class MyAgentHost:
    """What the connections share, and the watch over them."""

    path = MYAGENT
    is_machines = False

    def __init__(self, core: Core) -> None:
        self.core = core
        self.positions = Positions(core.store, core.tasks, core.clock)
        self.connections: dict[str, MyAgentConnection] = {}
        self.departures = Departures(core.tuning.myagent_departed_s, core.now)
        self.speaking: set[str] = set()
        """Sessions for which a message is being taken: of two at once, one opens the turn."""
        self.state_key = core.keys.derive("myagent signed state")
        self.feeds = {
            typed: Feeds(core.log, partial(translation, core, typed=typed))
            for typed in (False, True)
        }
        """By shape: whether an answer is an object."""
        self._started_ms = core.clock()
        self._recalled: set[str] = set()
        """Users whose first connection since the start has come."""
        self._sweeps = 0
        core.signals.revoked.watch(self._revoked)

    def may_recall(self, user_id: str) -> bool:
        """Whether that user's connection may be one that came back after the server was started
        again. Not where strangers are let in as the first user: what they left is nobody's."""
        is_soon = self._uptime_s() < self.core.tuning.myagent_departed_s
        return is_soon and not self.core.settings.open_myagent and user_id not in self._recalled

    async def recall(self, user_id: str) -> dict[str, Seen]:
        """What the user's connections were in the middle of when the server before this ended, for
        the first that comes."""
        if not self.may_recall(user_id):
            return {}
        self._recalled.add(user_id)
        kept_ms = int(self.core.tuning.myagent_departed_s * 1000)
        return await self.positions.unfinished(user_id, self._started_ms - kept_ms)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        # Nothing is read before the upgrade is answered: what the client sends meanwhile waits.
        transport.pause_reading()
        transport.set_protocol(asyncio.Protocol())
        self.core.tasks.spawn(self._admit(transport, head), "myagent connection")

    async def _admit(self, transport: asyncio.Transport, head: Head) -> None:
        try:
            who = await self._identify(head)
            who.require("read")
            active = await self._active_sessions(who)
            if await self._identify(head) != who:
                raise Unauthorized("the token's rights have just changed")
            self.core.connections.known(transport, who.user_id)
        except Exception as error:
            if isinstance(error, TrunklineError):
                self.core.handshakes.refused("myagent", head.path, error)
            refuse(transport, error)
            return
        if transport.is_closing():
            return
        self.core.surprises.saw_query("myagent", head.query, _QUERY)
        typed = head.query.get("shape") == "typed"
        greeting = self._greeting(active)
        is_anonymous = self._secret(head) is None
        connection = MyAgentConnection(self, who, greeting, typed=typed, is_anonymous=is_anonymous)
        transport.resume_reading()
        chosen = _chosen_subprotocol(head)
        adopt(transport, head, connection, limits.MYAGENT_FRAME_BYTES_MAX, chosen)

    def _secret(self, head: Head) -> str | None:
        bearers = (one for one in _offered(head) if one.startswith(_BEARER))
        offered = next(bearers, "").removeprefix(_BEARER)
        return secret_of(head, self.core.settings, offered)

    async def _identify(self, head: Head) -> Principal:
        secret = self._secret(head)
        if secret is not None:
            return await self.core.auth.identify(secret)
        if self.core.settings.open_myagent and "Authorization" not in head.headers:
            return self.core.auth.first_user
        raise Unauthorized("a bearer token or a login is needed")

    async def _active_sessions(self, who: Principal) -> int:
        table = schema.sessions
        query = select(func.count()).where(
            table.c.user_id == who.user_id, table.c.status == "active"
        )
        return await self.core.store.scalar(query) or 0

    def _greeting(self, active_sessions: int) -> Downlink:
        return Downlink(
            names.CONNECTED,
            connection_id=new_id(),
            content={
                "server_version": __version__,
                "server_time": timestamp(self.core.clock()),
            },
            metadata={
                "server_uptime_seconds": self._uptime_s(),
                "active_sessions": active_sessions,
            },
        )

    def _uptime_s(self) -> int:
        return max(0, self.core.clock() - self._started_ms) // 1000

    def sweep(self) -> None:
        """Once a second: heartbeats that are due; once a minute, old positions."""
        now, uptime_s = self.core.now(), self._uptime_s()
        for connection in list(self.connections.values()):
            connection.beat(now, uptime_s)
        self._sweeps += 1
        if self._sweeps % _PURGE_EVERY_SWEEPS == 0:
            self.core.tasks.spawn(self.positions.purge(), "myagent positions")

    def _revoked(self, token_id: str) -> None:
        """It was revoked, or has expired."""
        for connection in list(self.connections.values()):
            if connection.who.token_id == token_id:
                connection.close(CloseCode.REFUSED, "the token does not count any more")

    def say_goodbye(self) -> None:
        for connection in list(self.connections.values()):
            for session_id in connection.busy:
                self.positions.touch(connection.out.track, session_id)
            connection.close(CloseCode.GOING_AWAY, "the control plane is going down")
        self.positions.save_soon()


def _offered(head: Head) -> list[str]:
    """The subprotocols that the client offers."""
    lines = head.headers.getall("Sec-WebSocket-Protocol", [])
    return [one.strip() for line in lines for one in line.split(",") if one.strip()]


def _chosen_subprotocol(head: Head) -> str | None:
    """One without a secret in it, if there is one."""
    offered = _offered(head)
    return next((one for one in offered if not one.startswith(_BEARER)), next(iter(offered), None))
