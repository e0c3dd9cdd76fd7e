"""Copies of sessions: `trunkline session fork` and `chat --fork`."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from trunkline.cli.names import SessionName
from trunkline.cli.output import Record
from trunkline.cli.remote import given, remote

if TYPE_CHECKING:
    from trunkline.client import Client

FromTurn = Annotated[
    str | None,
    typer.Option(help="The last turn of the copy: its id or number. [the last that ended]"),
]


async def forked(
    client: "Client", session_id: str, from_turn: str | None, title: str | None = None
) -> Any:
    turn = int(from_turn) if from_turn is not None and from_turn.isdecimal() else from_turn
    body = given(from_turn=turn, title=title, client_id=str(uuid4()))
    return await client.post("sessions", session_id, "fork", body=body)


def add_to(app: typer.Typer) -> None:
    @remote(app, "fork", example="trunkline session fork 'Fix the build' --from-turn 3")
    async def fork(
        client: "Client",
        session_id: SessionName,
        from_turn: FromTurn = None,
        title: Annotated[str | None, typer.Option(help="A title. [the old one, (fork)]")] = None,
    ) -> Record:
        """Make a copy of a session that goes its own way from one of its turns."""
        return Record(await forked(client, session_id, from_turn, title))
