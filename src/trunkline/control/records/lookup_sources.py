"""Where the records of each kind are, that `lookup` finds: their names, who may see them, what is
said of them in a list of candidates."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, String, and_, exists, func, select, true
from sqlalchemy import cast as as_type

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.records.page import visible, visible_org
from trunkline.control.store import schema, service_schema
from trunkline.control.store.engine import AnyRow

Kind = Literal[
    "agents",
    "machines",
    "sessions",
    "persons",
    "groups",
    "skills",
    "mcp-servers",
    "users",
    "orgs",
    "tokens",
    "memories",
    "rules",
    "approvals",
    "evolutions",
]
DETAIL_CHARS_MAX = 120


class Source(NamedTuple):
    """Where the records of a kind are. `rows` has the columns id, owner, name, at and what `detail`
    is made of; `listed`: what can be found by more than its whole id."""

    rows: Select[Any]
    id: ColumnElement[str]
    names: tuple[ColumnElement[str], ...]
    at: ColumnElement[int]
    seen: Callable[[Principal], ColumnElement[bool]]
    detail: Callable[[AnyRow], str]
    listed: ColumnElement[bool] = true()
    handle: ColumnElement[str] | None = None
    """What other routes take of one that was found by its name, where that is not its id."""
    is_large: bool = False
    """There may be very many of one person, with an index of their names."""


_users, _orgs, _tokens = schema.users, schema.orgs, schema.tokens
_agents, _machines, _sessions = schema.agents, schema.machines, schema.sessions
_persons, _approvals, _guids = schema.persons, schema.approvals, schema.machine_secrets
_skills, _servers, _rules = (
    service_schema.skills,
    service_schema.mcp_servers,
    service_schema.rules,
)
_memories, _evolutions = service_schema.memories, service_schema.evolutions


def _rows(table: Any, owner: Any, name: Any, at: Any, *more: Any) -> Select[Any]:
    return select(
        table.c.id, owner.label("owner"), name.label("name"), at.label("at"), *more
    ).select_from(table)


def _nobody() -> ColumnElement[Any]:
    return as_type(None, String)


def _words(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _seen(table: Any, *, org: Any = None, shared: bool = False) -> Any:
    org_id = table.c.org_id if org is None else org

    def seen(who: Principal) -> ColumnElement[bool]:
        return visible(who, org_id, table.c.user_id, shared=shared)

    return seen


def _own_users_org(rows: Select[Any], table: Any) -> Select[Any]:
    return rows.join(_users, _users.c.id == table.c.user_id)


def _machine_source(listed: ColumnElement[bool]) -> Source:
    rows = _rows(
        *(_machines, _machines.c.user_id, _machines.c.name, _machines.c.created_at),
        *(_machines.c.kind, _machines.c.state, _machines.c.draining),
    ).outerjoin(_guids, _guids.c.machine_id == _machines.c.id)

    def detail(row: AnyRow) -> str:
        kind = "" if row.kind == "vm" else row.kind
        return _words(row.state, kind, "draining" if row.draining else "")

    return Source(
        rows=_own_users_org(rows, _machines),
        id=_machines.c.id,
        names=(_machines.c.name, _guids.c.guid),
        at=_machines.c.created_at,
        seen=_seen(_machines, org=_users.c.org_id),
        detail=detail,
        listed=listed,
    )


def _is_latest() -> ColumnElement[bool]:
    other = _skills.alias()
    newer = exists().where(
        other.c.org_id == _skills.c.org_id,
        other.c.skill_id == _skills.c.skill_id,
        other.c.created_at > _skills.c.created_at,
    )
    return ~newer


_machine = _machines.c.name.label("machine")
SOURCES: dict[Kind, Source] = {
    "agents": Source(
        rows=_rows(
            *(_agents, _agents.c.user_id, _agents.c.name, _agents.c.created_at),
            *(_agents.c.model, _agents.c.description),
        ),
        id=_agents.c.id,
        names=(_agents.c.name,),
        at=_agents.c.created_at,
        seen=_seen(_agents),
        detail=lambda row: _words(row.model, row.description),
    ),
    "machines": _machine_source(_machines.c.state != "terminated"),
    "groups": _machine_source(and_(_machines.c.state != "terminated", _machines.c.kind == "group")),
    "sessions": Source(
        rows=_rows(
            *(_sessions, _sessions.c.user_id, _sessions.c.title, _sessions.c.last_activity_at),
            *(_sessions.c.status, _machine),
        ).outerjoin(_machines, _machines.c.id == _sessions.c.machine_id),
        id=_sessions.c.id,
        names=(_sessions.c.title,),
        at=_sessions.c.last_activity_at,
        seen=_seen(_sessions),
        detail=lambda row: _words(
            row.machine and f"machine {row.machine}", "closed" if row.status == "closed" else ""
        ),
        is_large=True,
    ),
    "persons": Source(
        rows=_own_users_org(
            _rows(
                *(_persons, _persons.c.user_id, _persons.c.name, _persons.c.created_at),
                _persons.c.model,
            ),
            _persons,
        ),
        id=_persons.c.id,
        names=(_persons.c.name,),
        at=_persons.c.created_at,
        seen=_seen(_persons, org=_users.c.org_id),
        detail=lambda row: row.model or "",
    ),
    "skills": Source(
        rows=_rows(
            *(_skills, _nobody(), _skills.c.skill_id, _skills.c.created_at),
            *(_skills.c.version, _skills.c.description, _skills.c.skill_id.label("handle")),
        ),
        id=_skills.c.id,
        names=(_skills.c.skill_id, _skills.c.name),
        at=_skills.c.created_at,
        # By its name, a skill is one's own organisation's to every route.
        seen=lambda who: _skills.c.org_id == who.org_id,
        detail=lambda row: _words(row.version, row.description),
        listed=_is_latest(),
        handle=_skills.c.skill_id,
    ),
    "mcp-servers": Source(
        rows=_rows(
            *(_servers, _servers.c.user_id, _servers.c.name, _servers.c.created_at),
            *(_servers.c.url, _servers.c.command),
        ),
        id=_servers.c.id,
        names=(_servers.c.name,),
        at=_servers.c.created_at,
        seen=_seen(_servers, shared=True),
        detail=lambda row: row.url or row.command or "",
    ),
    "users": Source(
        rows=_rows(
            *(_users, _nobody(), _users.c.name, _users.c.created_at),
            *(_users.c.role, _orgs.c.name.label("org")),
        ).join(_orgs, _orgs.c.id == _users.c.org_id),
        id=_users.c.id,
        names=(_users.c.name,),
        at=_users.c.created_at,
        seen=lambda who: visible(who, _users.c.org_id, _users.c.id, shared=False),
        detail=lambda row: _words(row.role, f"organisation {row.org}"),
    ),
    "orgs": Source(
        rows=_rows(_orgs, _nobody(), _orgs.c.name, _orgs.c.created_at),
        id=_orgs.c.id,
        names=(_orgs.c.name,),
        at=_orgs.c.created_at,
        seen=lambda who: visible_org(who, _orgs.c.id),
        detail=lambda _row: "",
    ),
    "tokens": Source(
        rows=_own_users_org(
            _rows(
                *(_tokens, _tokens.c.user_id, _tokens.c.label, _tokens.c.created_at),
                *(_tokens.c.kind, _users.c.name.label("user")),
            ),
            _tokens,
        ),
        id=_tokens.c.id,
        names=(_tokens.c.label,),
        at=_tokens.c.created_at,
        seen=_seen(_tokens, org=_users.c.org_id),
        detail=lambda row: _words(row.kind, f"of {row.user}"),
        listed=_tokens.c.kind != "login",
    ),
    "memories": Source(
        rows=_rows(
            *(_memories, _memories.c.user_id, _nobody(), _memories.c.created_at),
            func.substr(_memories.c.content, 1, DETAIL_CHARS_MAX).label("content"),
        ),
        id=_memories.c.id,
        names=(func.substr(_memories.c.content, 1, limits.NAME_CHARS_MAX),),
        at=_memories.c.created_at,
        seen=_seen(_memories, shared=True),
        detail=lambda row: row.content,
    ),
    "rules": Source(
        rows=_rows(
            *(_rules, _rules.c.user_id, _rules.c.rule, _rules.c.created_at), _rules.c.effect
        ),
        id=_rules.c.id,
        names=(_rules.c.rule,),
        at=_rules.c.created_at,
        seen=_seen(_rules, shared=True),
        detail=lambda row: row.effect,
    ),
    "approvals": Source(
        rows=_rows(
            *(_approvals, _approvals.c.user_id, _approvals.c.request_id, _approvals.c.created_at),
            *(_approvals.c.state, _sessions.c.title),
        ).join(_sessions, _sessions.c.id == _approvals.c.session_id),
        id=_approvals.c.id,
        names=(_approvals.c.request_id,),
        at=_approvals.c.created_at,
        seen=_seen(_approvals, org=_sessions.c.org_id),
        detail=lambda row: _words(row.state, row.title and f"session {row.title!r}"),
        listed=_approvals.c.state == "pending",
    ),
    "evolutions": Source(
        rows=_rows(
            *(_evolutions, _evolutions.c.user_id, _evolutions.c.name, _evolutions.c.created_at),
            _evolutions.c.description,
        ),
        id=_evolutions.c.id,
        names=(_evolutions.c.name,),
        at=_evolutions.c.created_at,
        seen=_seen(_evolutions, shared=True),
        detail=lambda row: row.description,
        listed=_evolutions.c.state == "pending",
    ),
}


def kind_of(text: str) -> Kind | None:
    return next((kind for kind in SOURCES if kind == text), None)
