"""The route of token usage."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.services.usage import GroupBy, UsageSum

routes = Routes("usage")

_Time = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX, description="Unix time in milliseconds.")]


class UsageQuery(msgspec.Struct, kw_only=True):
    group_by: GroupBy = "model"
    since: _Time | None = None
    until: _Time | None = None


class UsageSums(msgspec.Struct, kw_only=True):
    """One item a group, the largest first; by day, the newest first."""

    items: list[UsageSum]


@routes.get("/usage")
async def sum_usage(core: Core, who: Principal, query: UsageQuery) -> UsageSums:
    """Sum up what models were used: your own; for org admins, their org's."""
    return UsageSums(
        items=await core.services.usage.summary(who, query.group_by, query.since, query.until)
    )
