"""What stands behind every VM line: authentication, resume, and the watch over silent lines.

`VmLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio
import os
from itertools import islice

import structlog
from msgspec import UNSET
from sqlalchemy import select, update

from trunkline import limits
from trunkline.control.access.auth import VmClaims
from trunkline.control.core import Core
from trunkline.control.door.head import VM, Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.semibot.connection import VmLine
from trunkline.control.edges.semibot.numbers import told_of
from trunkline.control.edges.semibot.requests import VmRequests
from trunkline.control.edges.semibot.unknown import Unknown
from trunkline.control.errors import InvalidRequest, Unauthorized
from trunkline.control.gathering import Gathering
from trunkline.control.ids import is_id
from trunkline.control.log import events
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.telling import ENDED
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import AnyRow
from trunkline.wire.commands import Command, Say, Start
from trunkline.wire.errors import CloseLine
from trunkline.wire.semibot.close_codes import CloseCode
from trunkline.wire.semibot.deployed import DEPLOYED, DOCUMENTED, default_model
from trunkline.wire.semibot.keys import NONCE_BYTES, encrypt_key
from trunkline.wire.semibot.messages import (
    Init,
    InitData,
    Resume,
    ResumeResponse,
    Token,
    TokenData,
)

_log = structlog.get_logger(__name__)

_QUERY = frozenset(("user_id", "ticket"))
_ACTIVE = ("pending", "online", "offline")


class VmHost:
    """Everything that the lines share."""

    path = VM
    is_machines = True

    def __init__(self, core: Core) -> None:
        self.log = core.log
        self.machines = core.machines
        self.metrics = core.metrics
        self.unknown = Unknown(core.surprises)
        self.requests = VmRequests(core)
        self.queries = core.queries
        self.rate_limit = core.settings.rate_limit_per_minute
        self.lines: set[VmLine] = set()
        self.now = core.now
        self.tuning = core.tuning
        self._core = core
        self._users = Gathering(self._known_users)
        self._vms = Gathering(self._vms_of)
        core.signals.keys.watch(self._keys_changed)
        core.signals.revoked.watch(self._revoked)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        """An upgrade request for `/ws/vm`."""
        user_id = head.query.get("user_id", "")
        if not user_id:
            raise InvalidRequest("user_id is missing in the URL")
        self._core.surprises.saw_query("semibot", head.query, _QUERY)
        line = VmLine(self, user_id, head.query.get("ticket"))
        adopt(transport, head, line, limits.FRAME_BYTES_MAX)

    def authenticate(self, line: VmLine, token: str) -> None:
        self._core.tasks.spawn(self._authenticate(line, token), "vm authentication")

    async def _authenticate(self, line: VmLine, token: str) -> None:
        try:
            machine = await self._admitted(line, token)
            init = await self._init(line, machine, token)
            if line.has_empty_ticket and line.dialect is None and not line.capabilities:
                line.speaks(DEPLOYED)
                await self._remember(machine.id, "an empty ticket")
            is_fresh = line.ticket is not None
            returning = machine.core.state.status != "pending"
            if is_fresh:
                with machine.input() as core:
                    core.restarted(line.traits)
                for log in list(machine.logs.values()):
                    await self.log.committed(log)
            if machine.core.state.status in ENDED:
                raise CloseLine(CloseCode.NO_ACTIVE_VM, "this VM has just been given up")
            # Nothing may come between these: the line is either not there or complete.
            if line.is_open:
                self._core.connections.known(line.transport)
                self.machines.attach(machine, line, fresh=is_fresh)
                line.go_live(machine, init)
        except CloseLine as error:
            line.close(error.code, error.reason)
            return
        except Exception:
            _log.exception("a line could not be authenticated", user=line.user_id)
            line.close(CloseCode.INTERNAL_ERROR, "internal error")
            return
        if returning:
            self.metrics.reconnections += 1
            if not is_fresh and line.traits.rules:
                self._core.ruling.returned(machine)
        _log.info("line is live", machine=machine.id, user=line.user_id, fresh=not returning)

    async def _admitted(self, line: VmLine, token: str) -> Machine:
        """Token, user, ticket and VM, in that order."""
        try:
            if len(token) > limits.VM_TOKEN_CHARS_MAX:
                raise Unauthorized("the token is too long to be one of ours")
            claims = self._core.auth.check_vm_token(token)
            if not await self._user_exists(line.user_id):
                raise CloseLine(CloseCode.USER_NOT_FOUND, "no such user")
            if claims.user_id != line.user_id:
                raise Unauthorized("the token is another user's")
            if line.ticket is not None:
                await self._core.auth.redeem_ticket(line.ticket, line.user_id, claims.vm_id)
        except Unauthorized as error:
            line.refusal = error.message
            raise CloseLine(CloseCode.AUTH_FAILED, "authentication failed") from error
        line.claims = claims
        return await self._active_vm(line, claims)

    async def _user_exists(self, user_id: str) -> bool:
        return is_id(user_id) and await self._users.get(user_id) is not None

    async def _known_users(self, user_ids: list[str]) -> dict[str, str]:
        table = schema.users
        query = select(table.c.id).where(among(table.c.id, user_ids))
        return {one: one for one in await self._core.store.scalars(query)}

    async def _active_vm(self, line: VmLine, claims: VmClaims) -> Machine:
        row = await self._vms.get(claims.vm_id)
        if row is None or row.user_id != claims.user_id or row.state not in (*_ACTIVE, "failed"):
            raise CloseLine(CloseCode.NO_ACTIVE_VM, "no active VM for this user")
        if claims.generation != (row.tokens_from or 0):
            _log.warning("line refused", machine=claims.vm_id, reason="the token was revoked")
            raise CloseLine(CloseCode.AUTH_FAILED, "authentication failed")
        if row.state not in _ACTIVE and not await self._core.vms.readmit(claims.vm_id):
            raise CloseLine(CloseCode.NO_ACTIVE_VM, "no active VM for this user")
        line.speaks(row.dialect)
        return await self.machines.get(claims.vm_id)

    async def _vms_of(self, vm_ids: list[str]) -> dict[str, AnyRow]:
        table = schema.machines
        columns = table.c.id, table.c.user_id, table.c.state, table.c.tokens_from, table.c.dialect
        query = select(*columns).where(among(table.c.id, vm_ids), table.c.kind == "vm")
        return {row.id: row for row in await self._core.store.all(query)}

    def recognised(self, machine_id: str, habit: str) -> None:
        self._core.tasks.spawn(self._remember(machine_id, habit), "machine's dialect")

    async def _remember(self, machine_id: str, habit: str) -> None:
        """A machine of the deployed kind has shown itself; what its owner said of it stands."""
        _log.info("a machine of the deployed kind", machine=machine_id, shown_by=habit)
        table = schema.machines
        change = update(table).where(table.c.id == machine_id, table.c.dialect.is_(None))
        await self._core.store.run(change.values(dialect=DEPLOYED))

    async def _init(self, line: VmLine, machine: Machine, token: str) -> Init:
        """A machine that named capabilities also learns which are in force."""
        data = await self._access(machine, token)
        if not line.is_open:
            raise CloseLine(CloseCode.OK, "")
        if line.accepted():
            data.capabilities = sorted(line.capabilities)
            self._tell_tables(data)
        elif line.dialect != DOCUMENTED:
            chosen = data.llm_config or {}
            model = chosen.get("default_model") or default_model(list(data.api_keys))
            data.llm_config = {**chosen, "default_model": model}
        if line.traits.numbers:
            data.acked = {
                session_id: log.safe_seq
                for session_id, log in machine.logs.items()
                if log.safe_seq is not None
            }
        return Init(data=data)

    async def _access(self, machine: Machine, token: str) -> InitData:
        """The models that its user may call: keys, addresses, and what they or the operator
        chose."""
        settings = self._core.settings
        credentials = self._core.records.credentials
        keys, chosen = await asyncio.gather(
            credentials.reveal(machine.user_id), credentials.default_model(machine.user_id)
        )
        config = {
            "default_model": chosen or settings.default_model,
            "fallback_model": settings.fallback_model,
            "providers": {one.provider: {"base_url": one.base_url} for one in keys if one.base_url},
        }
        return InitData(
            user_id=machine.user_id,
            org_id=machine.org_id,
            api_keys={
                one.provider: encrypt_key(one.api_key, token, os.urandom(NONCE_BYTES))
                for one in keys
                if one.api_key
            },
            llm_config={name: value for name, value in config.items() if value} or UNSET,
        )

    def _keys_changed(self, user_id: str) -> None:
        """Machines that speak our additions get another `init`; others when they return."""
        for line in self.lines:
            if line.user_id == user_id and line.machine is not None and line.capabilities:
                self._core.tasks.spawn(self._tell_keys(line, line.machine), "keys changed")

    async def _tell_keys(self, line: VmLine, machine: Machine) -> None:
        data = await self._access(machine, line.token)
        self._tell_tables(data)
        line.tell(Init(data=data))

    def _tell_tables(self, data: InitData) -> None:
        if own := self._core.services.own_tables:
            data.llm_config = {**(data.llm_config or {}), **own}

    def _revoked(self, machine_id: str) -> None:
        """Also a line that is just being let in."""
        for line in list(self.lines):
            if line.claims is not None and line.claims.vm_id == machine_id:
                line.end(LineEnd.REVOKED)

    def resume(self, line: VmLine, message: Resume) -> None:
        self._core.tasks.spawn(self._resume(line, message), "vm resume")

    async def _resume(self, line: VmLine, message: Resume) -> None:
        """What became of the requests that were under way."""
        assert line.machine is not None
        ids = message.pending_ids[: limits.RESUME_IDS_MAX]
        results = await self.requests.results_of(line.machine, ids)
        line.tell(ResumeResponse(results=dict(results)))
        if line.machine.line is line:
            with line.machine.input() as core:
                core.resumed(message.turns if line.traits.numbers else None)

    def catch_up(self, line: VmLine) -> None:
        self._core.tasks.spawn(self._catch_up(line), "a line that is ahead of the log")

    async def _catch_up(self, line: VmLine) -> None:
        """Until everything of its sessions is committed; a commit that takes long stalls all."""
        logs = line.machine.logs if line.machine is not None else {}
        for log in list(logs.values()):
            await self.log.committed(log)
        line.caught_up()

    def undeliverable(self, machine: Machine, command: Command) -> None:
        """It fits no frame that the machine takes: whoever waits for it is told."""
        why, session_id = "this is too large for the machine's line", command.session_id
        if isinstance(command, Start):  # as if the machine had said that it cannot start it
            error = {"error": why, "code": "SESSION_START_FAILED"}
            line = events.make("execution_error", self._core.clock(), **error)
            self.machines.watched(machine, machine.logs[session_id], line)
        elif isinstance(command, Say):
            turn, code = command.turn_id, "MESSAGE_TOO_LARGE"
            with machine.input() as core:
                core.finish(session_id, turn, "execution_error", error=why, code=code)

    def lost(self, line: VmLine, log: SessionLog, known: int, seq: int) -> None:
        """The machine skipped numbers: what was between is gone, and readers are told."""
        self.metrics.lost_events += 1
        _log.warning(
            "the machine lost events",
            session=log.session_id,
            machine=line.machine.id if line.machine else None,
            after=known,
            next=seq,
        )
        for reader in log.readers:
            reader.resync()
        # Whoever reads the log later sees where.
        self.log.append(log, told_of(known, seq, self._core.clock()))

    def ended(self, line: VmLine) -> None:
        self.lines.discard(line)
        if line.machine is not None:
            self.machines.detach(line.machine, line)

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    def sweep(self) -> None:
        """Once a second: a line that was silent for too long is dead (4008), and one that lives
        for long gets a new token."""
        now = self.now()
        for line in list(self.lines):
            if self.log.stalled is not None:
                line.last_seen = now  # it is we who do not listen
            if now - line.last_seen > limits.HEARTBEAT_SILENCE_S:
                line.close(CloseCode.TIMEOUT, "no sign of life")
        self._renew_tokens()

    def _renew_tokens(self) -> None:
        """A line outlives the token that opened it: the machine gets the one for its next line
        in time, and the document's machines, which know no such message, do not."""
        now_ms = self._core.clock()
        due = (
            (line, line.claims)
            for line in self.lines
            if line.machine is not None
            and line.capabilities
            and line.claims is not None
            and line.claims.half_life_ms <= now_ms
        )
        for line, claims in list(islice(due, limits.VM_TOKENS_RENEWED_PER_S)):
            token, line.claims = self._core.auth.renew_vm_token(claims)
            data = TokenData(token=token, expires_at=line.claims.exp * 1000)
            line.tell(Token(data=data))
            _log.info("token renewed", machine=claims.vm_id, user=line.user_id)
