"""`trunkline usage` and `trunkline audit`: how many tokens went where, and who did what."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import CommandFailed, Record, Rows
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
        entries, ("seq", "happened_at", "source", "user_id", "session_id", "event", "details")
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
    return Record(found)


def add_to(app: typer.Typer) -> None:
    remote(app, "usage", example="trunkline usage --by day --json")(usage)


async def usage(
    client: "Client",
    by: Annotated[str, typer.Option(help="model, user, session, agent or day.")] = "model",
    since: Annotated[int | None, typer.Option(min=0, help="Unix time in ms.")] = None,
    until: Annotated[int | None, typer.Option(min=0, help="Unix time in ms.")] = None,
) -> Rows:
    """Sum up what models were used."""
    found = await client.get("usage", group_by=by, since=since, until=until)
    return Rows(found["items"], ("key", "calls", "tokens_in", "tokens_out", "latency_ms_avg"))
