"""`trunkline org retention` and `trunkline session retention`: how long and how much is kept."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.names import OrgName, SessionName
from trunkline.cli.output import CommandFailed, Json, Record
from trunkline.cli.remote import given, remote

if TYPE_CHECKING:
    from trunkline.client import Client

Days = Annotated[int | None, typer.Option(min=1, max=36_500, help="Days that are kept.")]
SizeBytes = Annotated[
    int | None, typer.Option(min=65_536, max=2**50, help="Bytes of a session that are kept.")
]
Unbounded = Annotated[bool, typer.Option("--unbounded", help="Take both bounds away.")]


def add_to_orgs(app: typer.Typer) -> None:
    remote(app, "retention", example="trunkline org retention Acme --days 90")(of_org)


def add_to_sessions(app: typer.Typer) -> None:
    remote(app, "retention", example="trunkline session retention 'Fix the build' --days 7")(
        of_session
    )


async def of_org(
    client: "Client",
    org_id: OrgName,
    days: Days = None,
    size_bytes: SizeBytes = None,
    unbounded: Unbounded = False,
) -> Record:
    """Show how long and how much of its sessions an organisation keeps, or change it.

    What is older or more is removed for good.
    """
    place = "orgs", org_id, "retention"
    kept = await client.get(*place)
    wanted = _wanted(kept, days, size_bytes, unbounded)
    return Record(kept if wanted is None else await client.put(*place, body=wanted))


async def of_session(
    client: "Client",
    session_id: SessionName,
    days: Days = None,
    size_bytes: SizeBytes = None,
    unbounded: Unbounded = False,
) -> Record:
    """Show what is kept of a session, or keep less of it than its organisation does.

    What is older or more is removed for good.
    """
    place = "sessions", session_id, "retention"
    kept = await client.get(*place)
    wanted = _wanted(kept["own"], days, size_bytes, unbounded)
    return Record(kept if wanted is None else await client.put(*place, body=wanted))


def _wanted(kept: Json, days: int | None, size_bytes: int | None, unbounded: bool) -> Json | None:
    """The bounds that there are to be; None where nothing is to change."""
    said = given(days=days, size_bytes=size_bytes)
    if unbounded and said:
        raise CommandFailed("--unbounded takes both bounds away: give it alone")
    if not unbounded and not said:
        return None
    return {"days": None, "size_bytes": None} if unbounded else {**kept, **said}
