"""Token usage that machines report, and its sums by model, user, session, agent, machine or day.

Members see their own, org admins their org's, admins all.
"""

import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, case, func, insert, null, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import InvalidRequest
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_object, checked_text
from trunkline.control.records.page import visible
from trunkline.control.services.idempotency import Once, always
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions
from trunkline.control.store.service_schema import usage
from trunkline.prices import Cost, Prices

GroupBy = Literal["model", "user", "session", "day", "agent", "machine"]
_DAY_MS = 24 * 3600 * 1000
_GROUPS_MAX = 10_000
_COST_MAX = 1_000_000  # of one report
_DOLLARS = "USD"


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. What else the machine said (cached tokens and the like) is in `details`."""

    model: str
    tokens_in: int
    tokens_out: int
    latency_ms: float | None = None
    cost_usd: float | None = None
    """Where the program below has said it itself."""
    details: dict[str, Any] = {}


class UsageSum(msgspec.Struct, frozen=True):
    """The usage of one group; `key` is null where its session, agent or machine is gone. `cost` is
    that of the calls whose price is known; of `unpriced_calls` it is not. `day` (UTC): where it was
    asked for day by day."""

    key: str | None
    calls: int
    tokens_in: int
    tokens_out: int
    latency_ms_avg: float | None
    cost: Cost | None
    unpriced_calls: int
    day: str | None = None


class Usage:
    def __init__(self, store: Store, clock: Clock, prices: Prices) -> None:
        self._store = store
        self._clock = clock
        self._prices = prices

    async def record(
        self,
        org_id: str,
        user_id: str,
        session_id: str | None,
        report: UsageReport,
        once: Once = always,
    ) -> None:
        for field, value in (("tokens_in", report.tokens_in), ("tokens_out", report.tokens_out)):
            if not 0 <= value <= limits.TOKENS_MAX:
                raise InvalidRequest(f"{field} must be between 0 and {limits.TOKENS_MAX}")
        latency_ms = report.latency_ms
        if latency_ms is not None and not 0 <= latency_ms <= _DAY_MS:
            raise InvalidRequest("latency_ms must be between 0 and a day")
        if report.cost_usd is not None and not 0 <= report.cost_usd <= _COST_MAX:
            raise InvalidRequest(f"cost_usd must be between 0 and {_COST_MAX}")
        checked_text(report.model, "model", limits.NAME_CHARS_MAX)
        checked_object(report.details, "details", limits.METADATA_BYTES_MAX)
        owner = {"org_id": org_id, "user_id": user_id, "session_id": session_id}
        about = {"id": new_id(), "created_at": self._clock()}
        cost = self._cost_of(report)
        priced = {"cost": cost and cost.amount, "currency": cost and cost.currency}
        row = {**msgspec.structs.asdict(report), **owner, **about, **priced}
        del row["cost_usd"]
        async with self._store.write() as connection:
            await once(connection)
            await connection.execute(insert(usage).values(row))

    async def summary(
        self,
        who: Principal,
        group_by: GroupBy = "model",
        since: int | None = None,
        until: int | None = None,
        *,
        session_id: str | None = None,
        by_day: bool = False,
    ) -> list[UsageSum]:
        """Sums of what was reported in `since <= time < until` (Unix ms), largest first; `by_day`:
        of each day for itself, the newest first. A session's machine is the one that it is on
        now."""
        day = (usage.c.created_at - usage.c.created_at % _DAY_MS).label("day")
        keys: dict[GroupBy, ColumnElement[Any]] = {
            "model": usage.c.model,
            "user": usage.c.user_id,
            "session": usage.c.session_id,
            "day": day,
            "agent": sessions.c.agent_id,
            "machine": sessions.c.machine_id,
        }
        key = keys[group_by].label("key")
        total = func.sum(usage.c.tokens_in + usage.c.tokens_out)
        is_priced = usage.c.currency == self._prices.currency
        query = (
            select(
                key,
                day if by_day else null(),
                func.count(),
                func.sum(usage.c.tokens_in),
                func.sum(usage.c.tokens_out),
                func.avg(usage.c.latency_ms),
                func.sum(case((is_priced, usage.c.cost))),
                func.count(case((is_priced, 1))),
            )
            .select_from(usage)
            .where(visible(who, usage.c.org_id, usage.c.user_id, shared=False))
            .group_by(key, *([day] if by_day else []))
            .order_by(*([day.desc()] if by_day or group_by == "day" else []), total.desc())
            .limit(_GROUPS_MAX)
        )
        if group_by in ("agent", "machine"):
            query = query.outerjoin(sessions, sessions.c.id == usage.c.session_id)
        if since is not None:
            query = query.where(usage.c.created_at >= since)
        if until is not None:
            query = query.where(usage.c.created_at < until)
        if session_id is not None:
            query = query.where(usage.c.session_id == session_id)
        rows = await self._store.all(query)
        return [
            UsageSum(
                _day(group) if group_by == "day" else group,
                calls,
                int(tokens_in),
                int(tokens_out),
                latency_ms,
                None if cost is None else Cost(round(cost, 9), self._prices.currency),
                calls - priced,
                _day(on) if by_day else None,
            )
            for group, on, calls, tokens_in, tokens_out, latency_ms, cost, priced in rows
        ]

    def _cost_of(self, report: UsageReport) -> Cost | None:
        if report.cost_usd is not None:
            return Cost(report.cost_usd, _DOLLARS)
        used = {"tokens_in": report.tokens_in, "tokens_out": report.tokens_out}
        return self._prices.cost(report.model, {**report.details, **used})


def _day(at_ms: Any) -> str:
    return datetime.datetime.fromtimestamp(int(at_ms) / 1000, datetime.UTC).date().isoformat()
