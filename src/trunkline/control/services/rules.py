"""Records of rules: who may write which, which of them a session has, and what they say of what a
machine asks for. Which rule holds is decided in `trunkline/permissions`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import ColumnElement, and_, case, or_, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Forbidden, InvalidRequest
from trunkline.control.ids import new_id
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging, SeenRows
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions
from trunkline.control.store.service_schema import rules
from trunkline.permissions import rules as written
from trunkline.permissions.decision import decide
from trunkline.permissions.judging import told
from trunkline.permissions.names import names_of
from trunkline.permissions.rules import Effect, Level
from trunkline.permissions.subjects import Call, Subject, host, host_of_url

_TARGETED = ("agent", "machine", "session")


class NewRule(msgspec.Struct, kw_only=True):
    """`rule`: a tool, or some calls of it, as docs/guide/permissions.md says. `target`: the id of
    the agent, machine or session that it is for."""

    effect: Effect
    rule: Annotated[str, Meta(min_length=1, max_length=written.RULE_CHARS_MAX)]
    level: Level = "user"
    target: Id | None = None


class Rule(msgspec.Struct, kw_only=True):
    """`user_id` of null: it is for everyone in the organisation."""

    id: str
    org_id: str
    user_id: str | None
    machine_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    level: Level = "org"
    effect: Effect
    rule: str
    created_by: str
    created_at: int

    def __post_init__(self) -> None:
        owners: dict[Level, str | None] = {
            "session": self.session_id,
            "agent": self.agent_id,
            "machine": self.machine_id,
            "user": self.user_id,
        }
        self.level = next((name for name, owner in owners.items() if owner is not None), "org")

    @property
    def told(self) -> dict[str, Any]:
        """As a machine is told it."""
        return {"effect": self.effect, "rule": self.rule, "level": self.level}


class Owner(msgspec.Struct, frozen=True):
    """For which sessions a rule is: those that have every one of these that is set."""

    org_id: str
    user_id: str | None
    machine_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


class RuleTrial(msgspec.Struct, kw_only=True):
    """`rule`: as it will be written. `about`: what its calls are told apart by. `matches`: whether
    it is for the call, null where none was given. On its machine, parts of a command that only read
    are allowed beside it."""

    rule: str
    about: Literal["command", "path", "domain", "tool"]
    matches: bool | None


class Rules(SeenRows[Rule]):
    """`on_change`: called with a rule that was added or removed."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, rules, Rule, "rule", shared=True)
        self._clock = clock
        self.on_change: list[Callable[[Rule], Awaitable[None]]] = []

    async def add(self, who: Principal, new: NewRule, owner: Owner) -> Rule:
        if (new.target is None) == (new.level in _TARGETED):
            raise InvalidRequest(f"target is the id of {', '.join(_TARGETED)}: of no other level")
        if owner.user_id is None:
            who.require_org_admin()
        if owner.user_id not in (None, who.user_id) and new.effect == "allow":
            raise Forbidden("what somebody else's sessions do unasked is theirs to say")
        try:
            text = written.read(new.effect, new.rule).text
        except ValueError as error:
            raise InvalidRequest(str(error), code="INVALID_RULE") from error
        mine = (
            rules.c.user_id.is_(None)
            if owner.user_id is None
            else (rules.c.user_id == owner.user_id)
        )
        await self._check_count(limits.RULES_PER_USER_MAX, rules.c.org_id == owner.org_id, mine)
        known = await self._find(
            *(rules.c[name].is_not_distinct_from(value) for name, value in _ids(owner).items()),
            rules.c.effect == new.effect,
            rules.c.rule == text,
        )
        if known is not None:
            return known
        rule = Rule(
            id=new_id(),
            **_ids(owner),
            effect=new.effect,
            rule=text,
            created_by=who.user_id,
            created_at=self._clock(),
        )
        await self._store.run(self._insert(rule))
        await self._changed(rule)
        return rule

    async def remove(self, who: Principal, rule_id: str) -> None:
        """Whoever wrote it, or an administrator."""
        rule = await self._seen(who, rule_id)
        if rule.created_by != who.user_id:
            who.require_org_admin()
        await self._remove(rule_id)
        await self._changed(rule)

    async def page_of(
        self, who: Principal, paging: Paging, level: str | None, agent_id: str | None = None
    ) -> Page[Rule]:
        """`agent_id`: those for this agent alone."""
        wanted = [] if level is None else [_level == level]
        if agent_id is not None:
            wanted.append(rules.c.agent_id == agent_id)
        return await self._page(paging, self._seen_by(who), *wanted)

    async def of_session(self, session_id: str) -> list[Rule]:
        """Those that hold in it, `deny` first."""
        return await self._all(
            self._query.join(sessions, _holds).where(sessions.c.id == session_id)
        )

    async def of_user(self, org_id: str, user_id: str) -> list[Rule]:
        """Those for no machine, agent or session."""
        owned = or_(rules.c.user_id.is_(None), rules.c.user_id == user_id)
        plain = (rules.c[name].is_(None) for name in ("machine_id", "agent_id", "session_id"))
        return await self._all(self._query.where(rules.c.org_id == org_id, owned, *plain))

    async def sessions_of(self, rule: Rule) -> list[tuple[str, str]]:
        """The open sessions that it is for, each with its machine."""
        names = ("org_id", "user_id", "machine_id", "agent_id")
        wanted = [
            sessions.c[name] == value
            for name in names
            if (value := getattr(rule, name)) is not None
        ]
        if rule.session_id is not None:
            wanted.append(sessions.c.id == rule.session_id)
        query = select(sessions.c.id, sessions.c.machine_id).where(
            sessions.c.status == "active", sessions.c.machine_id.is_not(None), *wanted
        )
        return [(row.id, row.machine_id) for row in await self._store.all(query)]

    async def _all(self, query: Any) -> list[Rule]:
        first = case({"deny": 0, "ask": 1}, value=rules.c.effect, else_=2)
        rows = await self._store.all(query.order_by(first, rules.c.id).limit(written.RULES_MAX))
        return [msgspec.convert(row, Rule, from_attributes=True) for row in rows]

    def _insert(self, record: Rule, **hidden: Any) -> Any:
        values = msgspec.to_builtins(record)
        del values["level"]
        return rules.insert().values(values)

    async def _changed(self, rule: Rule) -> None:
        for changed in self.on_change:
            await changed(rule)


def tried(effect: Effect, text: str, call: str) -> RuleTrial:
    """A rule that nobody has made, and a call that nobody makes."""
    try:
        rule = written.read(effect, text)
    except ValueError as error:
        raise InvalidRequest(str(error), code="INVALID_RULE") from error
    kind, call = (None if rule.pattern is None else rule.pattern.kind), call.strip()
    match kind:
        case None:
            subjects: tuple[Subject, ...] = ()
        case "domain":
            is_url = "://" in call
            subjects = (host_of_url(call) if is_url else host(call),)
        case "path":
            subjects = (Subject("path", call.removeprefix("./") or None),)
        case "command":
            subjects = (Subject("command", call),)
    names = names_of(rule.tool if kind is not None else call)
    decided = decide([rule], Call(names, subjects)) if call else None
    is_for_it = decided is not None and decided.rule is not None
    return RuleTrial(rule=rule.text, about=kind or "tool", matches=is_for_it if call else None)


def check(held: list[Rule], call: Call, *, asks: bool) -> None:
    """Raises Forbidden where a rule denies what a machine asks for, or wants a person asked and
    the machine cannot. `asks`: it has asked by the same rules itself."""
    found = [written.read(one.effect, one.rule, one.level) for one in held]
    decided = decide(found, call)
    if decided is None or decided.effect == "allow":
        return
    if decided.effect == "deny":
        raise Forbidden(told(decided), code="RULE_DENIES")
    if not asks:
        why = f"{told(decided)}; this machine cannot ask anybody, so it is not done"
        raise Forbidden(why, code="RULE_ASKS")


def _ids(owner: Owner) -> dict[str, Any]:
    return msgspec.structs.asdict(owner)


_holds: ColumnElement[bool] = and_(
    rules.c.org_id == sessions.c.org_id,
    *(
        or_(rules.c[name].is_(None), rules.c[name] == column)
        for name, column in (
            ("user_id", sessions.c.user_id),
            ("machine_id", sessions.c.machine_id),
            ("agent_id", sessions.c.agent_id),
            ("session_id", sessions.c.id),
        )
    ),
)
_level: ColumnElement[str] = case(
    (rules.c.session_id.is_not(None), "session"),
    (rules.c.agent_id.is_not(None), "agent"),
    (rules.c.machine_id.is_not(None), "machine"),
    (rules.c.user_id.is_not(None), "user"),
    else_="org",
)
