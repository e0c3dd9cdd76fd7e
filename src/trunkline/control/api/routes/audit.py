"""Routes of what was used and done: token usage, the audit log."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.audit import AuditEntry, AuditHead, Verification
from trunkline.control.services.usage import GroupBy, UsageSum

usage = Routes("usage")
audit = Routes("audit")


_Time = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX, description="Unix time in milliseconds.")]


class UsageQuery(msgspec.Struct, kw_only=True):
    group_by: GroupBy = "model"
    since: _Time | None = None
    until: _Time | None = None
    session_id: Id | None = None


class UsageSums(msgspec.Struct, kw_only=True):
    """One item a group, the largest first; by day, the newest first."""

    items: list[UsageSum]


@usage.get("/usage")
async def sum_usage(core: Core, who: Principal, query: UsageQuery) -> UsageSums:
    """Sum up what models were used: your own; for org admins, their org's."""
    items = await core.services.usage.summary(
        who, query.group_by, query.since, query.until, session_id=query.session_id
    )
    return UsageSums(items=items)


@audit.get("/audit")
async def list_audit(core: Core, who: Principal, query: Paging) -> Page[AuditEntry]:
    """Read the audit log, newest first: what you did; for org admins, what their org did."""
    return await core.services.audit.page(who, query)


class VerifyQuery(msgspec.Struct, kw_only=True):
    """A head that was noted elsewhere, to be compared with the chain."""

    seq: Annotated[int, Meta(ge=1, le=limits.JSON_INT_MAX)] | None = None
    hash: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None


@audit.get("/audit/verify")
async def verify_audit(core: Core, who: Principal, query: VerifyQuery) -> Verification:
    """Check the whole chain and name the first broken link.

    With `seq` and `hash`, also against a head that was noted elsewhere. It reads every entry, so it
    is for administrators.
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
