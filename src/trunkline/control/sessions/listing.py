"""Lists of sessions, with a person's rights: pages of them, by what they show."""

from typing import Annotated, Any

from msgspec import Meta
from sqlalchemy import ColumnElement, and_, or_

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import InvalidRequest
from trunkline.control.ids import is_id
from trunkline.control.machines.online import Online
from trunkline.control.records.page import Page, Paging, visible
from trunkline.control.sessions.records import (
    Session,
    SessionRecords,
    SessionStatus,
    State,
    is_running,
    listed,
    needs_you,
)
from trunkline.control.store.among import among
from trunkline.control.store.schema import sessions

_TERMS_MAX = 8


class SessionQuery(Paging, kw_only=True):
    """What is left out is not asked for. `q`: words of the title. `members`: also the sessions in
    which persons take part in a group."""

    status: Annotated[SessionStatus, Meta(description="Only open or only closed ones.")] | None = (
        None
    )
    state: Annotated[State, Meta(description="Only those that do this.")] | None = None
    archived: (
        Annotated[bool, Meta(description="Only those in the archive, or only those that are not.")]
        | None
    ) = None
    machine_id: (
        Annotated[str, Meta(max_length=limits.ID_CHARS_MAX, description="Only on this machine.")]
        | None
    ) = None
    members: Annotated[
        bool, Meta(description="Also those in which persons take part in a group.")
    ] = True
    q: (
        Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX, description="Words of the title.")]
        | None
    ) = None


class SessionList:
    def __init__(self, records: SessionRecords, online: Online) -> None:
        self._records = records
        self._online = online

    async def made(
        self, who: Principal, *, status: SessionStatus | None = None, machine_id: str | None = None
    ) -> list[Session]:
        """Those that people talk in, the last made first; as many as a page has at most."""
        query = SessionQuery(status=status, machine_id=machine_id, members=False)
        found = listed().where(*self._wanted(query), seen_by(who)).order_by(sessions.c.id.desc())
        return await self._records.made(found.limit(limits.PAGE_MAX))

    async def page(self, who: Principal, query: SessionQuery) -> Page[Session]:
        """Pinned ones first, then by their newest activity."""
        wanted = [*self._wanted(query), seen_by(who)]
        if query.cursor is not None:
            wanted.append(_behind(query.cursor))
        order = (column.desc() for column in (sessions.c.pinned, _activity, sessions.c.id))
        found = listed().where(*wanted).order_by(*order).limit(query.limit + 1)
        items = await self._records.made(found)
        more, items = items[query.limit :], items[: query.limit]
        return Page(items, _cursor(items[-1]) if more else None)

    def _wanted(self, query: SessionQuery) -> list[ColumnElement[bool]]:
        wanted: list[ColumnElement[bool]] = []
        if query.status is not None:
            wanted.append(sessions.c.status == query.status)
        if query.state is not None:
            wanted.append(self._in_state(query.state))
        if query.archived is not None:
            wanted.append(sessions.c.archived.is_(query.archived))
        if query.machine_id is not None:
            wanted.append(sessions.c.machine_id == query.machine_id)
        if not query.members:
            wanted.append(is_no_member)
        wanted += [holds(sessions.c.title, term) for term in terms(query.q or "")]
        return wanted

    def _in_state(self, state: State) -> ColumnElement[bool]:
        """As `SessionRecords.made` decides it."""
        if state == "closed":
            return sessions.c.status == "closed"
        is_open = sessions.c.status == "active"
        if state == "needs_you":
            return and_(is_open, needs_you)
        online = among(sessions.c.machine_id, self._online.ids)
        if state == "offline":
            away = or_(sessions.c.machine_id.is_(None), ~online)
            return and_(is_open, ~needs_you, away)
        works = is_running if state == "running" else ~is_running
        return and_(is_open, ~needs_you, online, works)


_activity = sessions.c.last_activity_at
is_no_member = sessions.c.session_config["group"]["session_id"].as_string().is_(None)


def seen_by(who: Principal) -> ColumnElement[bool]:
    return visible(who, sessions.c.org_id, sessions.c.user_id, shared=False)


def terms(text: str) -> list[str]:
    """The words of a query."""
    return text.replace("\x00", " ").split()[:_TERMS_MAX]


def holds(column: ColumnElement[Any], term: str) -> ColumnElement[bool]:
    """In any case: SQLite knows that of ASCII letters alone, so that others are written out."""
    ways = dict.fromkeys((term.lower(), term.upper(), term.capitalize()))
    if term.isascii():
        ways = {term: None}
    return or_(*(column.icontains(one, autoescape=True) for one in ways))


# A page's end: whether it is pinned, when it was active, which it is.


def _cursor(last: Session) -> str:
    return f"{int(last.pinned)}.{last.last_activity_at}.{last.id}"


def _behind(cursor: str) -> ColumnElement[bool]:
    pinned, _, rest = cursor.partition(".")
    at, _, session_id = rest.partition(".")
    is_number = at.isascii() and at.isdigit() and len(at) <= len(str(limits.JSON_INT_MAX))
    if pinned not in ("0", "1") or not is_number or not is_id(session_id):
        raise InvalidRequest("cursor is not one that a list returned")
    active = int(at)
    older = or_(_activity < active, and_(_activity == active, sessions.c.id < session_id))
    if pinned == "0":
        return and_(sessions.c.pinned.is_(False), older)
    return or_(sessions.c.pinned.is_(False), older)
