"""Routes of what was used and done: token usage, the audit log."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import Forbidden, InvalidRequest
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging
from trunkline.control.redaction import redact
from trunkline.control.services.audit import (
    AuditEntry,
    AuditFilter,
    AuditHead,
    Source,
)
from trunkline.control.services.audit_chain import Verification
from trunkline.control.services.usage import GroupBy, UsageSum

usage = Routes("usage")
audit = Routes("audit")


_Time = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX, description="Unix time in milliseconds.")]


class UsageQuery(msgspec.Struct, kw_only=True):
    group_by: Annotated[GroupBy, Meta(description="What the sums are of.")] = "model"
    since: _Time | None = None
    until: _Time | None = None
    session_id: Annotated[Id, Meta(description="Only of this session.")] | None = None
    by_day: Annotated[bool, Meta(description="Of each day (UTC) for itself.")] = False


class UsageSums(msgspec.Struct, kw_only=True):
    """One item a group, the largest first; day by day, the newest first."""

    items: list[UsageSum]


@usage.get("/usage")
async def sum_usage(core: Core, who: Principal, query: UsageQuery) -> UsageSums:
    """Sum up what models were used: your own; for org admins, their org's."""
    items = await core.services.usage.summary(
        who,
        query.group_by,
        query.since,
        query.until,
        session_id=query.session_id,
        by_day=query.by_day,
    )
    return UsageSums(items=items)


class AuditQuery(Paging, kw_only=True):
    user_id: Annotated[Id, Meta(description="Who did it.")] | None = None
    session_id: Annotated[Id, Meta(description="Only of this session.")] | None = None
    source: Annotated[Source, Meta(description="Where it came from.")] | None = None
    event: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.NAME_CHARS_MAX,
                description="How its name begins: `token.` or `token.issued`.",
            ),
        ]
        | None
    ) = None
    since: _Time | None = None
    until: _Time | None = None
    q: (
        Annotated[
            str,
            Meta(
                min_length=2,
                max_length=limits.NAME_CHARS_MAX,
                description="A text in its name or details, in capitals or not.",
            ),
        ]
        | None
    ) = None


@audit.get("/audit")
async def list_audit(core: Core, who: Principal, query: AuditQuery) -> Page[AuditEntry]:
    """Read the audit log, newest first: what you did; for org admins, what their org did."""
    wanted = AuditFilter(
        user_id=query.user_id,
        session_id=query.session_id,
        source=query.source,
        event=query.event,
        since=query.since,
        until=query.until,
        text=query.q,
    )
    return await core.services.audit.page(who, query, wanted)


class VerifyQuery(msgspec.Struct, kw_only=True):
    """A head that was noted elsewhere, to be compared with the chain."""

    seq: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=limits.JSON_INT_MAX,
                description="The number of an entry that you have noted.",
            ),
        ]
        | None
    ) = None
    hash: (
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="The hash that it had.")] | None
    ) = None


@audit.get("/audit/verify")
async def verify_audit(core: Core, who: Principal, query: VerifyQuery) -> Verification:
    """Check the whole chain and name the first broken link.

    `earlier` tells of chains that a new one was begun behind. With `seq` and `hash`, also against a
    head that was noted elsewhere. It reads every entry, so it is for administrators.
    """
    who.require_org_admin()
    if (query.seq is None) is not (query.hash is None):
        raise InvalidRequest("seq and hash come together")
    noted = {query.seq: query.hash} if query.seq is not None and query.hash is not None else None
    return await core.services.audit.verify(noted)


@audit.get("/audit/head")
async def get_audit_head(core: Core, who: Principal) -> AuditHead:
    """Show number, hash and time of the newest entry, to be noted elsewhere."""
    who.require_org_admin()
    return await core.services.audit.head()


class AuditRestart(msgspec.Struct, kw_only=True):
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.AUDIT_VALUE_CHARS_MAX,
            description="Why, for whoever reads the log later.",
        ),
    ]


@audit.post("/audit/restart")
async def restart_audit(core: Core, who: Principal, body: AuditRestart) -> AuditHead:
    """Begin a new chain behind one that is broken, or whose key is lost.

    Nothing that was written is removed: the first entry of the new chain, `audit.restarted`, says
    who began it, why, and what was wrong, and holds the hash of all that was there. `AUDIT_WHOLE`
    while nothing is wrong.
    """
    if who.role != "admin":
        raise Forbidden("only an administrator of the whole system may do this")
    return await core.services.audit.restart(who, redact(body.reason))
