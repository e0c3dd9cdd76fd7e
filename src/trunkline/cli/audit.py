"""`trunkline audit`: the log of who did what, and whether it is unbroken."""

from typing import TYPE_CHECKING

from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Record, Rows
from trunkline.cli.remote import Limit, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("audit", "The audit log.")


@remote(app, "list", example="trunkline audit list --limit 20")
async def list_entries(client: "Client", limit: Limit = 50) -> Rows:
    """Print the audit log, newest first."""
    found = await taken(client.each("audit"), limit)
    entries = [{**entry, "happened_at": entry.get("at")} for entry in found]
    return Rows(entries, ("seq", "happened_at", "user_id", "session_id", "event", "details"))


@remote(app, "verify", example="trunkline audit verify")
async def verify(client: "Client") -> Record:
    """Check the whole chain; fails and names the first broken link."""
    answer = await client.get("audit", "verify")
    if not answer["ok"]:
        broken = answer.get("first_broken") or {}
        raise CommandFailed(f"broken at entry {broken.get('seq')}: {broken.get('reason')}")
    return Record(answer)
