"""`trunkline usage`: how many tokens went where."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import Rows
from trunkline.cli.remote import remote

if TYPE_CHECKING:
    from trunkline.client import Client

_COLUMNS = ("key", "calls", "tokens_in", "tokens_out", "latency_ms_avg")


def add_to(app: typer.Typer) -> None:
    remote(app, "usage", example="trunkline usage --by day --json")(usage)


async def usage(
    client: "Client",
    by: Annotated[str, typer.Option(help="model, user, session, agent or day.")] = "model",
    since: Annotated[int | None, typer.Option(min=0, help="Unix time in ms.")] = None,
    until: Annotated[int | None, typer.Option(min=0, help="Unix time in ms.")] = None,
) -> Rows:
    """Sum up what models were used."""
    answer = await client.get("usage", group_by=by, since=since, until=until)
    return Rows(answer["items"], _COLUMNS)
