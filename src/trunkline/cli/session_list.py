"""Which sessions there are, and how they are listed: `trunkline session search`, `export`,
`import`, `read`, `pin`, `archive`, `delete`."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import choices
from trunkline.cli.names import OnMachine, SessionName, called
from trunkline.cli.output import CommandFailed, Done, Record, Rows, Shown, Text
from trunkline.cli.remote import remote
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client


_IMPORT_S = 24 * 3600.0


def add_to(app: typer.Typer) -> None:
    remote(app, "search", example="trunkline session search 'flaky test'")(search)
    remote(app, "export", example="trunkline session export 'Fix the build' talk.jsonl")(export)
    remote(app, "import", example="trunkline session import talk.jsonl")(import_file)
    remote(app, "read", example="trunkline session read 'Fix the build'")(read)
    remote(app, "pin", example="trunkline session pin 'Fix the build'")(pin)
    remote(app, "archive", example="trunkline session archive 'Fix the build'")(archive)
    remote(app, "delete", example="trunkline session delete 'Fix the build' --yes")(delete)


async def search(
    client: "Client",
    query: Annotated[str, typer.Argument(help="Words, or parts of words.")],
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 30,
) -> Rows:
    """Search in titles, in what was said and in answers, newest first."""
    found = await client.get("sessions", "search", q=query, limit=limit)
    columns = ("session_id", "snippet", "title", "where", "event_id")
    return Rows(found["items"], columns, empty="nothing found")


async def export(
    client: "Client",
    session_id: SessionName,
    file: Annotated[
        Path | None, typer.Argument(help="Where it goes. [stdout]", show_default=False)
    ] = None,
    form: Annotated[
        choices.ExportForm, typer.Option("--format", help="Everything, or what was said.")
    ] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file.")
    ] = None,
) -> Shown:
    """Save a session: all of it, to be kept or imported, or the conversation as Markdown."""
    from trunkline.cli.saving import save

    parts = client.http.pieces("sessions", session_id, "export", query={"format": form})
    return await save(parts, file or output, "saving the session")


async def import_file(
    client: "Client",
    file: Annotated[Path, typer.Argument(help="What `session export` has written; - is stdin.")],
    machine: OnMachine = None,
    title: Annotated[str | None, typer.Option(help="Instead of the file's.")] = None,
) -> Record:
    """Make a session of a file that was exported, here or elsewhere."""
    from trunkline.cli.saving import pieces_of

    if str(file) != "-" and not file.is_file():
        raise CommandFailed(f"there is no file {file}")
    made = await client.http.fetch(
        dict[str, Any],
        "POST",
        "sessions",
        "import",
        query={"machine_id": machine, "title": title},
        lines=pieces_of(file, "importing the session"),
        timeout_s=_IMPORT_S,
    )
    return Record(made)


async def read(client: "Client", session_id: SessionName) -> Text:
    """Read a session as a chat shows it."""
    from trunkline.cli.chat.render.layout import wants_colours
    from trunkline.cli.chat.render.plain import Plain
    from trunkline.cli.chat.render.transcript import Transcript

    columns = shutil.get_terminal_size().columns
    plain = Plain()
    painted = Transcript(width=lambda: columns, colours=wants_colours(os.environ))
    texts: list[str] = []
    shown: list[str] = []
    async for event in client.sessions.events(session_id):
        texts.append(plain.feed(event))
        shown.append(painted.feed(event))
    item = {"session_id": session_id, "text": "".join(texts) + plain.end()}
    return Text(item["text"], item, "".join(shown) + painted.end())


async def pin(
    client: "Client",
    session_id: SessionName,
    is_off: Annotated[bool, typer.Option("--off", help="No longer.")] = False,
) -> Record:
    """Keep a session at the top of lists."""
    return Record(await client.patch("sessions", session_id, body={"pinned": not is_off}))


async def archive(
    client: "Client",
    session_id: SessionName,
    is_off: Annotated[bool, typer.Option("--off", help="No longer.")] = False,
) -> Record:
    """Put a session out of sight; it goes on, and is found."""
    return Record(await client.patch("sessions", session_id, body={"archived": not is_off}))


async def delete(
    client: "Client",
    session_id: SessionName,
    is_sure: Sure = False,
) -> Done:
    """Remove a session for good, with all that was said; its files on its machine stay."""
    named = await called(client, "sessions", session_id)
    if not is_sure:
        make_sure(f"Remove {named} with all that was said?")
    await client.http.call("DELETE", "sessions", session_id, query={"erase": True})
    return Done(f"removed {named}")
