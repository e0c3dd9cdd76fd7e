"""Who is asking: people by bearer token or cookie, execution planes by ticket and JWT.

Knows the store and the keys, no sockets. An edge hands in what its protocol carried and gets a
`Principal`, or `Unauthorized` with a message that says nothing about what exists.
"""

from collections.abc import Iterable

import jwt
import msgspec
from sqlalchemy import and_, bindparam, delete, insert, or_, select, update

from trunkline import limits
from trunkline.control.access import scopes
from trunkline.control.access.keys import Keys, digest, same
from trunkline.control.access.scopes import Scope, Scopes
from trunkline.control.clock import Clock, now_ms
from trunkline.control.errors import Forbidden, NotFound, Unauthorized
from trunkline.control.gathering import Gathering
from trunkline.control.ids import new_id, new_secret
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.watchers import Watchers

_ISSUER = "trunkline"
_AUDIENCE = "trunkline:vm"
_NEVER = 2**63


class Principal(msgspec.Struct, frozen=True):
    """An authenticated person. `token_id` is what a revocation cuts; empty for the fixed token.
    `expires_at` (Unix ms) is the token's end, if it has one; `scopes` what it is limited to."""

    user_id: str
    org_id: str
    role: str
    token_id: str = ""
    expires_at: int | None = None
    scopes: Scopes = None
    is_lent: bool = False
    """Made to end, or by one that was. Every browser's login ends; its owner can log in again."""

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    def may_see(self, *, org_id: str, user_id: str | None) -> bool:
        """Members see their own records, org admins their org's, admins all.

        A record without a user belongs to the whole org.
        """
        if self.is_admin:
            return True
        if org_id != self.org_id:
            return False
        return self.role == "org_admin" or user_id is None or user_id == self.user_id

    def has_expired(self, now_ms: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now_ms

    def require(self, scope: Scope) -> None:
        """Raises unless the token may be used for that."""
        scopes.require(self.scopes, scope)

    def require_unlimited(self) -> None:
        """Raises for a token with scopes or with an end: for what has neither."""
        if self.scopes is not None or self.is_lent:
            raise Forbidden("a token with scopes or an end cannot have a secret without them")

    def require_org_admin(self) -> None:
        if self.role not in ("admin", "org_admin"):
            raise Forbidden("only an administrator may do this")


class Login(msgspec.Struct, frozen=True):
    """A browser that has just logged in, and until when (Unix ms)."""

    cookie: str
    token_id: str
    user_id: str
    expires_at: int


class VmClaims(msgspec.Struct, frozen=True):
    """What a VM's token says."""

    user_id: str
    org_id: str
    vm_id: str
    iat: int
    exp: int
    generation: int = 0
    """The machine's `tokens_from` when it was issued; another one by now: it was revoked."""

    @property
    def half_life_ms(self) -> int:
        """When the holder of a live line gets a new one."""
        return (self.iat + self.exp) * 500


class Auth:
    """Issues and checks every credential."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        admin_token: str | None,
        clock: Clock = now_ms,
        revoked: Watchers[str] | None = None,
    ) -> None:
        """`revoked`: told of tokens that have ended."""
        self._store = store
        self._signing = keys.signing
        self._verifying = keys.signing.public_key()
        self._admin_hash = digest(admin_token) if admin_token else None
        self._admin: Principal | None = None
        self._clock = clock
        self._cached: dict[str, Principal] = {}
        self._found = Gathering(self._look_up)
        self._cache_clears = 0
        self.revoked = revoked or Watchers()
        self._ends: dict[str, int] = {}
        """When the tokens end (Unix ms) with which something may be connected."""
        self._next_end = _NEVER
        self._used: dict[str, int] = {}
        """The last use of each token that the store does not know of yet."""

    async def load_first_user(self) -> Principal:
        """The operator's own user, as whom the fixed admin token acts: the oldest admin; on a new
        database, one in a new org."""
        users = schema.users
        oldest = (
            select(users.c.id, users.c.org_id)
            .where(users.c.role == "admin")
            .order_by(users.c.created_at, users.c.id)
            .limit(1)
        )
        async with self._store.write() as connection:
            row = (await connection.execute(oldest)).first()
            user_id, org_id = (new_id(), new_id()) if row is None else row
            if row is None:
                now = self._clock()
                org = {"id": org_id, "name": "Home", "created_at": now}
                user = {"id": user_id, "org_id": org_id, "name": "admin", "role": "admin"}
                await connection.execute(insert(schema.orgs).values(org))
                await connection.execute(insert(users).values(**user, created_at=now))
        self._admin = Principal(user_id, org_id, "admin")
        return self._admin

    @property
    def first_user(self) -> Principal:
        """The operator's own user."""
        if self._admin is None:
            raise Unauthorized("there is no first user yet")
        return self._admin

    async def identify(self, secret: str) -> Principal:
        """The person behind a bearer token or session cookie."""
        hashed = digest(secret)
        if self._admin is not None and self._admin_hash and same(hashed, self._admin_hash):
            return self._admin
        while (known := self._cached.get(hashed)) is None:
            # Taken from the cache, which a revocation empties, and not from what was found.
            if await self._found.get(hashed) is None:
                raise Unauthorized("the token is not known")
        now = self._clock()
        if known.has_expired(now):
            self._cached.pop(hashed, None)
            raise Unauthorized("the token has expired")
        self._used[known.token_id] = now
        return known

    async def _look_up(self, hashes: list[str]) -> dict[str, Principal]:
        tokens, users = schema.tokens, schema.users
        whose = users.c.id, users.c.org_id, users.c.role, tokens.c.id, tokens.c.expires_at
        query = (
            select(tokens.c.hash, *whose, tokens.c.scopes, tokens.c.kind, tokens.c.login_until)
            .join(users, users.c.id == tokens.c.user_id)
            .where(among(tokens.c.hash, hashes), tokens.c.kind.in_(("bearer", "cookie")))
        )
        clears = -1
        while clears != self._cache_clears:  # else it may have been revoked while it was read
            clears = self._cache_clears
            rows = await self._store.all(query)
        if len(self._cached) > 10_000:
            self._cached.clear()
        found: dict[str, Principal] = {}
        for hashed, user_id, org_id, role, token_id, expires_at, limited, kind, until in rows:
            is_lent = (expires_at if kind == "bearer" else until) is not None
            limit = scopes.scopes_of(limited)
            found[hashed] = Principal(user_id, org_id, role, token_id, expires_at, limit, is_lent)
            if expires_at is not None:
                self._ends[token_id] = expires_at
                self._next_end = min(self._next_end, expires_at)
        self._cached |= found
        return found

    def sweep(self) -> None:
        """Once a second: what is connected with a token that has ended is cut."""
        now = self._clock()
        if now < self._next_end:
            return
        ended = [token_id for token_id, end in self._ends.items() if end <= now]
        for token_id in ended:
            del self._ends[token_id]
            self.revoked.tell(token_id)
        self._next_end = min(self._ends.values(), default=_NEVER)

    def last_use(self, token_id: str) -> int | None:
        """If it is not stored yet."""
        return self._used.get(token_id)

    async def save_uses(self) -> None:
        """Once a minute: when each token was last used."""
        used, self._used = self._used, {}
        if not used:
            return
        change = update(schema.tokens).where(schema.tokens.c.id == bindparam("token_id"))
        rows = [{"token_id": one, "last_used_at": at} for one, at in used.items()]
        try:
            async with self._store.write() as connection:
                await connection.execute(change, rows)
        except BaseException:
            self._used = used | self._used
            raise

    def is_first_user(self, user_id: str) -> bool:
        """The operator's own user, which cannot be removed."""
        return self._admin is not None and self._admin.user_id == user_id

    def forget(self, token_ids: Iterable[str] = ()) -> None:
        """Clears the cache, as a user's role or org has changed, and cuts what these tokens have
        connected: it comes back with its present rights."""
        self._cached.clear()
        self._cache_clears += 1
        for token_id in token_ids:
            self._ends.pop(token_id, None)
            self.revoked.tell(token_id)

    async def issue(
        self,
        user_id: str,
        kind: str = "bearer",
        *,
        label: str = "",
        life_s: float | None = None,
        limited_to: Scopes = None,
        under: Principal | None = None,
        login_until: int | None = None,
        ends_with: str | None = None,
    ) -> tuple[str, str]:
        """A new secret for that user and the id under which it can be revoked. `under`: whoever
        asks for it; it neither outlives nor exceeds the token that they came with. `ends_with`:
        the id of a token with which it is revoked."""
        token_id, secret = new_id(), new_secret("tl")
        end = None if life_s is None else self._clock() + int(life_s * 1000)
        if under is not None:
            limited_to = scopes.narrowed(under.scopes, limited_to)
            end = _earlier(end, under.expires_at)
            if kind != "bearer":
                login_until = _earlier(login_until, under.expires_at)
        row = {
            "id": token_id,
            "user_id": user_id,
            "hash": digest(secret),
            "kind": kind,
            "label": label,
            "scopes": None if limited_to is None else sorted(limited_to),
            "created_at": self._clock(),
            "expires_at": end,
            "login_until": login_until,
            "ends_with": ends_with or None,
        }
        await self._store.run(insert(schema.tokens).values(row))
        return secret, token_id

    async def revoke(self, token_id: str) -> None:
        tokens = schema.tokens
        ending = or_(tokens.c.id == token_id, tokens.c.ends_with == token_id)
        async with self._store.write() as connection:
            ended = (
                await connection.scalars(delete(tokens).where(ending).returning(tokens.c.id))
            ).all()
        if token_id not in ended:
            raise NotFound("token", token_id)
        self.forget(ended)

    async def redeem_login(self, secret: str) -> Login:
        """Turns the one-time secret of a login link into a browser's login."""
        tokens = schema.tokens
        fitting = and_(
            tokens.c.hash == digest(secret),
            tokens.c.kind == "login",
            tokens.c.expires_at > self._clock(),
        )
        async with self._store.write() as connection:
            columns = tokens.c.user_id, tokens.c.scopes, tokens.c.login_until
            link = (
                await connection.execute(delete(tokens).where(fitting).returning(*columns))
            ).first()
        if link is None:
            raise Unauthorized("this login link was used already or has expired")
        usual = self._clock() + int(limits.COOKIE_LIFE_S * 1000)
        end = usual if link.login_until is None else min(usual, link.login_until)
        cookie, token_id = await self.issue(
            link.user_id,
            "cookie",
            life_s=(end - self._clock()) / 1000,
            limited_to=scopes.scopes_of(link.scopes),
            login_until=link.login_until,
        )
        return Login(cookie, token_id, link.user_id, end)

    def issue_vm_token(
        self, user_id: str, org_id: str, vm_id: str, tokens_from: int | None = None
    ) -> str:
        """The JWT that a VM sends in its first frame: docs/protocols/semibot.md#auth.
        `tokens_from`: of the VM's record."""
        return self._signed(user_id, org_id, vm_id, tokens_from or 0)[0]

    def renew_vm_token(self, claims: VmClaims) -> tuple[str, VmClaims]:
        """A token for the same VM whose life begins now; revoked with the one before it."""
        return self._signed(claims.user_id, claims.org_id, claims.vm_id, claims.generation)

    def revoke_machine(self, machine_id: str) -> None:
        """Cuts what is connected with a machine's credentials, which its record has ended."""
        self.revoked.tell(machine_id)

    def _signed(
        self, user_id: str, org_id: str, vm_id: str, generation: int
    ) -> tuple[str, VmClaims]:
        issued_at = self._clock() // 1000
        expires_at = issued_at + int(limits.VM_TOKEN_LIFE_S)
        claims = VmClaims(user_id, org_id, vm_id, issued_at, expires_at, generation)
        payload = {
            "iss": _ISSUER,
            "aud": _AUDIENCE,
            # VMs read either spelling, so the token carries both.
            "userId": user_id,
            "orgId": org_id,
            **msgspec.structs.asdict(claims),
        }
        return jwt.encode(payload, self._signing, algorithm="RS256"), claims

    def check_vm_token(self, token: str) -> VmClaims:
        """Signature, algorithm, life, issuer and audience; anything else is Unauthorized."""
        try:
            claims = jwt.decode(
                token,
                self._verifying,
                algorithms=["RS256"],
                audience=_AUDIENCE,
                issuer=_ISSUER,
                # Times are compared with this clock, not with the library's.
                options={
                    "require": ["exp", "iat", "aud", "iss"],
                    "verify_exp": False,
                    "verify_iat": False,
                },
            )
            if int(claims["exp"]) * 1000 <= self._clock():
                raise Unauthorized("the VM token has expired")
            return msgspec.convert(claims, VmClaims)
        except (jwt.PyJWTError, msgspec.ValidationError, ValueError, TypeError) as error:
            raise Unauthorized("the VM token is not valid") from error

    async def issue_ticket(self, user_id: str, machine_id: str) -> tuple[str, int]:
        """A one-time ticket and its end (Unix ms)."""
        ticket = new_secret("tk")
        expires_at = self._clock() + int(limits.TICKET_LIFE_S * 1000)
        row = {
            "hash": digest(ticket),
            "user_id": user_id,
            "machine_id": machine_id,
            "expires_at": expires_at,
        }
        await self._store.run(insert(schema.tickets).values(row))
        return ticket, expires_at

    async def redeem_ticket(self, ticket: str, user_id: str, machine_id: str) -> None:
        """Uses a ticket up. Of several attempts at once, one succeeds."""
        tickets, now = schema.tickets, self._clock()
        fitting = and_(
            tickets.c.hash == digest(ticket),
            tickets.c.user_id == user_id,
            tickets.c.machine_id == machine_id,
            tickets.c.used_at.is_(None),
            tickets.c.expires_at > now,
        )
        if await self._store.run(update(tickets).where(fitting).values(used_at=now)) != 1:
            raise Unauthorized("the ticket was used already, has expired, or is another user's")


def _earlier(one: int | None, other: int | None) -> int | None:
    """None: never."""
    return min((end for end in (one, other) if end is not None), default=None)
