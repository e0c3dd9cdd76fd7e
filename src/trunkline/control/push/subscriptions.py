"""Browsers that asked to be told, as records. What is sent where is decided in `push.py`.

An endpoint with its keys is a capability of the browser's: sealed at rest, never shown again. A
subscription ends with the login that made it: who logs a device out is not read on it any more.
"""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime, time
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import ColumnElement, and_, delete, or_, select
from sqlalchemy.exc import IntegrityError

from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest
from trunkline.control.ids import new_id
from trunkline.control.push.crypto import Receiver
from trunkline.control.records.fields import Name
from trunkline.control.records.page import Rows, changes
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import group_seats, sessions, tokens
from trunkline.control.store.service_schema import push_subscriptions as table

SUBSCRIPTIONS_PER_USER_MAX = 50
_ENDPOINT_CHARS_MAX = 2_000
_PROBLEM_CHARS_MAX = 300

PushKind = Literal["needs_you", "done"]
_Kinds = Annotated[list[PushKind], Meta(max_length=2)]
_Clock = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
_Zone = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[A-Za-z][A-Za-z0-9_+/-]*$")]


class QuietHours(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """From that minute of each day to that other, over midnight where it comes first; in a time
    zone as `Europe/Berlin`. What waits then is told when they are over."""

    start: _Clock
    end: _Clock
    time_zone: _Zone

    def check(self) -> None:
        try:
            time.fromisoformat(self.start), time.fromisoformat(self.end)
        except ValueError as error:  # the end of a pattern lets a line's end pass
            raise InvalidRequest("from and to are times of a day: 22:00") from error
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, OSError, ValueError) as error:  # no such zone; a folder; no name
            raise InvalidRequest(f"time_zone: there is no {self.time_zone!r}") from error

    def holds(self, now_ms: int) -> bool:
        now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(ZoneInfo(self.time_zone))
        at, start, end = now.time(), time.fromisoformat(self.start), time.fromisoformat(self.end)
        return start <= at < end if start <= end else at >= start or at < end


class NewSubscription(msgspec.Struct, kw_only=True):
    """`endpoint` and `keys` as the browser's `PushSubscription` says them, `name` what the device
    is called in the list of them. The same endpoint again replaces what was said of it before."""

    class Keys(msgspec.Struct):
        p256dh: Annotated[str, Meta(max_length=200)]
        auth: Annotated[str, Meta(max_length=100)]

    endpoint: Annotated[str, Meta(min_length=1, max_length=_ENDPOINT_CHARS_MAX)]
    keys: Keys
    name: Name
    kinds: _Kinds = msgspec.field(default_factory=lambda: ["needs_you", "done"])
    quiet: QuietHours | None = None


class SubscriptionPatch(msgspec.Struct, kw_only=True):
    """What is left out stays. Null takes the quiet hours away."""

    name: Name | UnsetType = UNSET
    kinds: _Kinds | UnsetType = UNSET
    quiet: QuietHours | UnsetType | None = UNSET


class PushSubscription(msgspec.Struct, kw_only=True):
    """`service`: the host of the browser's push service. `endpoint_sha256`: by which a browser
    knows its own. `problem`: why the last message was not taken. `sent_at`: the last that was."""

    id: str
    name: str
    service: str
    endpoint_sha256: str
    kinds: list[PushKind]
    quiet: QuietHours | None = None
    problem: str | None = None
    sent_at: int | None = None
    created_at: int


class Target(msgspec.Struct, frozen=True):
    """A subscription with where it is reached."""

    id: str
    user_id: str
    kinds: tuple[str, ...]
    quiet: QuietHours | None
    receiver: Receiver


class Told(msgspec.Struct, frozen=True):
    """A session whose user is to be told something, and how they are reached."""

    title: str | None
    user_id: str
    targets: list[Target]


class Subscriptions(Rows[PushSubscription]):
    """Each person's own; nobody sees another's."""

    def __init__(self, store: Store, keys: Keys, clock: Clock) -> None:
        super().__init__(store, table, PushSubscription, "push subscription")
        self._keys = keys
        self._clock = clock

    async def all(self, who: Principal) -> list[PushSubscription]:
        query = self._query.where(self._own(who)).order_by(table.c.id)
        rows = await self._store.all(query)
        return [msgspec.convert(row, PushSubscription, from_attributes=True) for row in rows]

    async def add(
        self, who: Principal, new: NewSubscription, receiver: Receiver
    ) -> PushSubscription:
        if new.quiet is not None:
            new.quiet.check()
        fingerprint = hashlib.sha256(new.endpoint.encode()).hexdigest()
        same = table.c.endpoint_sha256 == fingerprint
        # Somebody else on the same browser: it is theirs now.
        others = delete(table).where(same, table.c.user_id != who.user_id)
        await self._store.run(others)
        known = await self._find(same, table.c.user_id == who.user_id)
        if known is None:
            mine = table.c.user_id == who.user_id
            await self._store.run(delete(table).where(mine, ~_is_alive(self._clock())))
            await self._check_count(SUBSCRIPTIONS_PER_USER_MAX, mine)
        made = PushSubscription(
            id=new_id() if known is None else known.id,
            name=new.name,
            service=receiver.host,
            endpoint_sha256=fingerprint,
            kinds=new.kinds,
            quiet=new.quiet,
            sent_at=None if known is None else known.sent_at,
            created_at=self._clock() if known is None else known.created_at,
        )
        sealed = self._keys.seal(msgspec.json.encode(receiver).decode(), _context(made.id))
        hidden = {"sealed": sealed, "token_id": who.token_id or None}
        if known is None:
            try:
                return await self._add(made, user_id=who.user_id, **hidden)
            except IntegrityError as error:
                raise Conflict("this browser was subscribed in the same moment") from error
        await self._change(made.id, {**msgspec.to_builtins(made), **hidden})
        return made

    async def change(
        self, who: Principal, subscription_id: str, patch: SubscriptionPatch
    ) -> PushSubscription:
        await self.get(who, subscription_id)
        if isinstance(patch.quiet, QuietHours):
            patch.quiet.check()
        await self._change(subscription_id, msgspec.to_builtins(changes(patch)))
        return await self.get(who, subscription_id)

    async def get(self, who: Principal, subscription_id: str) -> PushSubscription:
        return await self._seen(who, subscription_id)

    async def remove(self, who: Principal, subscription_id: str) -> None:
        await self.get(who, subscription_id)
        await self.forget(subscription_id)

    async def forget(self, subscription_id: str) -> None:
        """Its push service says that there is no such browser any more."""
        await self._remove(subscription_id)

    async def note(self, subscription_id: str, problem: str | None) -> None:
        """What became of a message to it."""
        values: dict[str, Any] = {"problem": problem and problem[:_PROBLEM_CHARS_MAX]}
        if problem is None:
            values["sent_at"] = self._clock()
        await self._change(subscription_id, values)

    async def target(self, who: Principal, subscription_id: str) -> Target:
        await self.get(who, subscription_id)
        return (await self._targets(table.c.id == subscription_id))[0]

    async def named(self, subscription_ids: Iterable[str]) -> list[Target]:
        return await self._targets(among(table.c.id, set(subscription_ids)))

    async def of_sessions(self, session_ids: set[str]) -> dict[str, Told]:
        """The sessions among these whose users can be told. Not those in which a person takes part
        in a group: the group asks and ends for them."""
        seated = select(group_seats.c.member_session_id)
        reachable = (
            select(sessions.c.id, sessions.c.title, sessions.c.user_id)
            .where(among(sessions.c.id, session_ids), sessions.c.id.not_in(seated))
            .where(sessions.c.user_id.in_(select(table.c.user_id)))
        )
        found = await self._store.all(reachable)
        if not found:
            return {}
        targets = await self._targets(among(table.c.user_id, {row.user_id for row in found}))
        by_user: dict[str, list[Target]] = {}
        for target in targets:
            by_user.setdefault(target.user_id, []).append(target)
        return {row.id: Told(row.title, row.user_id, by_user.get(row.user_id, [])) for row in found}

    async def _targets(self, *where: ColumnElement[bool]) -> list[Target]:
        query = select(table).where(*where, _is_alive(self._clock())).order_by(table.c.id)
        return [
            Target(
                row.id,
                row.user_id,
                tuple(row.kinds),
                row.quiet and msgspec.convert(row.quiet, QuietHours),
                msgspec.json.decode(self._keys.unseal(row.sealed, _context(row.id)), type=Receiver),
            )
            for row in await self._store.all(query)
        ]

    def _own(self, who: Principal) -> ColumnElement[bool]:
        return and_(table.c.user_id == who.user_id, _is_alive(self._clock()))

    def _seen_by(self, who: Principal) -> ColumnElement[bool]:
        return self._own(who)


def _is_alive(now_ms: int) -> ColumnElement[bool]:
    """Whether the login that made it still is one."""
    login = select(tokens.c.id).where(
        tokens.c.id == table.c.token_id,
        or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now_ms),
    )
    return or_(table.c.token_id.is_(None), login.exists())


def _context(subscription_id: str) -> str:
    return f"push_subscriptions:{subscription_id}"
