"""What stands behind every Yeaft web client: who is connected, and the feeds they share."""

import asyncio
from functools import partial

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.head import YEAFT_WEB, Head, secret_of
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.yeaft_web.connection import YeaftWeb
from trunkline.control.edges.yeaft_web.group_chats import GroupChats
from trunkline.control.edges.yeaft_web.translation import translation
from trunkline.control.edges.yeaft_web.visit import WIRE
from trunkline.control.log.feeds import Feeds, Translate
from trunkline.control.machines.machine import Machine
from trunkline.wire.yeaft.close_codes import CloseCode

_QUERY = frozenset(("type", "token"))


class YeaftWebHost:
    """Every Yeaft web client of this control plane."""

    path = YEAFT_WEB
    is_machines = False

    def __init__(self, core: Core) -> None:
        self.core = core
        self.clients: set[YeaftWeb] = set()
        self.feeds = {
            deployed: Feeds(core.log, partial(self._translate, deployed))
            for deployed in (False, True)
        }
        self._pins: dict[str, tuple[str, str]] = {}
        """The machine of each session that is followed, and its kind."""
        self._has_unpinned = False
        self._online: set[str] = set()
        core.signals.revoked.watch(self._revoked)
        core.signals.machines.watch(self._machine_changed)
        core.signals.titles.watch(lambda one: self.catalog_changed(one.user_id))
        self.group_chats = GroupChats(core)
        core.relay.watch(WIRE, self.group_chats.heard)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        self.core.surprises.saw_query(WIRE, head.query, _QUERY)
        client = YeaftWeb(self, secret_of(head, self.core.settings, of_yeaft=True))
        adopt(transport, head, client, limits.FRAME_BYTES_MAX)

    def ended(self, client: YeaftWeb) -> None:
        self.clients.discard(client)
        self._has_unpinned = True

    def sweep(self) -> None:
        """Once a second: forgets where the sessions run that nobody follows any more. A client that
        is gone is noticed when it does not read."""
        if self._has_unpinned:
            self._has_unpinned = False
            followed = {one for client in self.clients for one in client.reader.followed}
            for session_id in self._pins.keys() - followed:
                del self._pins[session_id]

    def say_goodbye(self) -> None:
        for client in list(self.clients):
            client.close(CloseCode.GOING_AWAY, "the control plane is going down")

    def _revoked(self, token_id: str) -> None:
        """It was revoked, or has expired."""
        for client in list(self.clients):
            if client.visit is not None and client.visit.who.token_id == token_id:
                client.close(CloseCode.REFUSED, "authentication: the token does not count any more")

    def pin(self, session_id: str, machine: Machine | None) -> None:
        """Remembers where a session runs, for those who follow it."""
        if machine is not None:
            self._pins[session_id] = machine.id, machine.kind

    def catalog_changed(self, user_id: str) -> None:
        """How that person's page lists conversations is different now, on all of them."""
        for client in list(self.clients):
            if client.visit is not None and client.visit.who.user_id == user_id:
                client.list_soon()

    def _translate(self, deployed: bool, session_id: str) -> Translate:
        agent_id, kind = self._pins.get(session_id, (None, ""))
        return translation(session_id, agent_id, kind, deployed=deployed)

    def _machine_changed(self, machine: Machine) -> None:
        online = machine.line is not None
        came_or_went = (machine.id in self._online) is not online
        if came_or_went:
            (self._online.add if online else self._online.discard)(machine.id)
        for client in list(self.clients):
            visit = client.visit
            if visit is not None and visit.who.may_see(
                org_id=machine.org_id, user_id=machine.user_id
            ):
                client.machine_changed(machine, came_or_went)
