"""`trunkline usage` and `trunkline audit`: how many tokens went where, and who did what."""

import asyncio
import time
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import choices
from trunkline.cli.moments import moment_ms
from trunkline.cli.names import Named, option
from trunkline.cli.output import CommandFailed, Json, Record, Rows
from trunkline.cli.remote import Limit, collect, group, remote

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("audit", "The audit log.")


@remote(app, "list", example="trunkline audit list --limit 20")
async def list_entries(client: "Client", limit: Limit = 50) -> Rows:
    """Print the audit log, newest first."""
    found = await collect(client.each("audit"), limit)
    entries = [{**entry, "happened_at": entry.get("at")} for entry in found]
    return Rows(
        entries,
        ("seq", "happened_at", "event", "user_id", "details", "session_id", "source"),
        raw=found,
    )


@remote(app, "head", example="trunkline audit head --json >> heads.txt")
async def head(client: "Client") -> Record:
    """Print the newest entry's number, hash and time, to be noted elsewhere."""
    return Record(await client.get("audit", "head"))


@remote(app, "verify", example="trunkline audit verify")
async def verify(
    client: "Client",
    seq: Annotated[int | None, typer.Option(min=1, help="Of a head noted elsewhere.")] = None,
    noted: Annotated[str | None, typer.Option("--hash", help="Of that head.")] = None,
) -> Record:
    """Check the whole chain; fails and names the first broken link."""
    found = await client.get("audit", "verify", seq=seq, hash=noted)
    if not found["ok"]:
        broken = found.get("first_broken") or {}
        raise CommandFailed(f"broken at entry {broken.get('seq')}: {broken.get('reason')}")
    earlier = "; ".join(_ended(one) for one in found["earlier"])
    return Record(found, view={**found, "earlier": earlier or None})


def _ended(chain: Json) -> str:
    """A chain that a new one was begun behind, in words."""
    broken = chain["broken"]
    state = "whole but for its end" if broken is None else f"broken at {broken['seq']}"
    why = chain["reason"] if broken is None else broken["reason"]
    return f"entries {chain['first']} to {chain['last']}: {state} ({why})"


@remote(app, "restart", example='trunkline audit restart --reason "sealing.key was lost"')
async def restart(
    client: "Client",
    reason: Annotated[str, typer.Option(help="Why, for whoever reads the log later.")],
) -> Record:
    """Begin a new chain behind one that is broken or whose key is lost; nothing is removed."""
    return Record(await client.post("audit", "restart", body={"reason": reason}))


def add_to(app: typer.Typer) -> None:
    remote(app, "usage", example="trunkline usage --by day --since 7d")(usage)


async def usage(
    client: "Client",
    by: Annotated[choices.UsageBy, typer.Option(help="What is summed up.")] = "model",
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="From then on: 7d or 12h (ago), 2026-11-18.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="And until then.")] = None,
    session: Annotated[
        str | None,
        option("sessions", "--session", "Only of this session: id or title."),
        Named("sessions"),
    ] = None,
) -> Rows:
    """Sum up what models were used, and what that cost as far as prices are known."""
    now_ms = int(time.time() * 1000)
    asked = {"since": moment_ms(since, now_ms), "until": moment_ms(until, now_ms)}
    found = await client.get("usage", group_by=by, session_id=session, **asked)
    items = found["items"]
    summed = [*items, _total(items)] if len(items) > 1 else items
    empty = "no model was used yet: trunkline chat 'Hello'"
    exact = [_used(by, one, _exact_cost(one)) for one in summed]
    called = await _called(client, by, [one["key"] for one in items if one["key"]])
    view = [
        _used(by, {**one, "key": called.get(one["key"], one["key"])}, _cost(one)) for one in summed
    ]
    return Rows(exact, (by, *_USED), raw=items, view=view, empty=empty)


async def _called(client: "Client", by: str, ids: list[str]) -> dict[str, str]:
    """What people call those that are summed up, by their ids; days and models are their names."""
    from trunkline.client import ApiError

    if by not in _RECORDS:
        return {}

    async def name_of(record_id: str) -> str | None:
        try:
            record = await client.get(f"{by}s", record_id)
        except ApiError:
            return None  # it is gone, or another's
        return record.get("title") or record.get("name")

    asked = ids[:_NAMED_MAX]
    found = await asyncio.gather(*map(name_of, asked))
    return {one: name for one, name in zip(asked, found, strict=True) if name}


_RECORDS = ("user", "session", "agent", "machine")
_NAMED_MAX = 100
_USED = ("cost", "tokens_in", "tokens_out", "calls", "seconds")
_SUMMED = ("calls", "tokens_in", "tokens_out", "unpriced_calls")


def _total(items: list[Json]) -> Json:
    total: Json = {name: sum(one[name] for one in items) for name in _SUMMED}
    costs = [one["cost"] for one in items if one["cost"]]
    if costs:
        amount = sum(one["amount"] for one in costs)
        total["cost"] = {"amount": amount, "currency": costs[0]["currency"]}
    return {"key": "total", **total}


def _used(by: str, item: Json, cost: str | None) -> Json:
    latency_ms = item.get("latency_ms_avg")
    return {
        by: item["key"],
        "calls": item["calls"],
        "tokens_in": item["tokens_in"],
        "tokens_out": item["tokens_out"],
        "seconds": None if latency_ms is None else round(latency_ms / 1000, 1),
        "cost": cost,
    }


def _exact_cost(item: Json) -> str | None:
    cost = item.get("cost")
    return f"{cost['amount']} {cost['currency']}" if cost else None


def _cost(item: Json) -> str | None:
    """Without what nobody knows the price of, which is said."""
    from trunkline.cli.human import money

    cost, unpriced = item.get("cost"), item.get("unpriced_calls", 0)
    if not cost:
        return None
    amount = money(cost["amount"], cost["currency"])
    return f"{amount} (and {unpriced} calls of unknown price)" if unpriced else amount
