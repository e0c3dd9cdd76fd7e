"""`trunkline session adopt`: conversations begun in a terminal, listed and gone on with."""

import shlex
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import choices
from trunkline.cli.names import OnMachine
from trunkline.cli.output import CommandFailed, Json, Record, Rows
from trunkline.cli.people import user_of
from trunkline.cli.remote import Limit, collect, given, remote
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client

_COLUMNS = ("id", "title", "program", "updated_at", "folder", "message_count", "session_id")


def add_to(app: typer.Typer) -> None:
    remote(app, "adopt", example="trunkline session adopt --machine laptop")(adopt)


async def adopt(
    client: "Client",
    conversation_id: Annotated[
        str | None, typer.Argument(help="The program's own id. [lists what there is]")
    ] = None,
    machine: OnMachine = None,
    runtime: Annotated[
        choices.Adoptable | None, typer.Option(help="Only those of this program.")
    ] = None,
    folder: Annotated[str | None, typer.Option(help="Only of this folder, there.")] = None,
    title: Annotated[str | None, typer.Option(help="A title. [the conversation's]")] = None,
    limit: Limit = 50,
) -> Rows | Record:
    """Go on with a conversation that Claude Code, Codex or opencode has on a machine.

    Without an id, those are listed that are there. What was said becomes the session's own history,
    and its next message goes on with the program's conversation.
    """
    machines = [machine] if machine else await _machines(client)
    found: list[Json] = []
    for machine_id in machines:
        wanted = given(runtime=runtime, folder=folder)
        parts = "machines", machine_id, "foreign-sessions"
        most = 0 if conversation_id else limit
        listed = await _unless_it_fails(
            collect(client.each(*parts, **wanted), most), machine_id, is_one=len(machines) == 1
        )
        for one in listed:
            shown = {**one, "program": one.get("preset") or one["runtime"]}
            found.append({**shown, "machine_id": machine_id})
    if conversation_id is None:
        several = ("machine_id",) if len(machines) > 1 else ()
        empty = "no conversations of Claude Code, Codex or opencode are there"
        return Rows(found, (*_COLUMNS, *several), empty=empty)
    fitting = [one for one in found if one["id"] == conversation_id]
    if len(fitting) != 1:
        where = "several places" if fitting else "no machine that is online"
        name = one_line(conversation_id)[:100]
        raise CommandFailed(f"{name!r} is on {where}: trunkline session adopt lists what there is")
    return Record(await client.post("sessions", body=_body(fitting[0], title)))


def _body(one: Json, title: str | None) -> Json:
    names: Any = {"runtime": one["runtime"], "id": one["id"]}
    names |= given(preset=one.get("preset") or None)
    return {"machine_id": one["machine_id"], "adopt": names, **given(title=title)}


async def _unless_it_fails(
    asking: Awaitable[list[Json]], machine_id: str, *, is_one: bool
) -> list[Json]:
    """Of several machines, one that cannot say is told of, and the others are shown."""
    from trunkline.client import ApiError

    try:
        return await asking
    except ApiError as error:
        if is_one:
            raise
        typer.echo(f"machine {machine_id}: {one_line(error.message)}", err=True)
        return []


async def _machines(client: "Client") -> list[str]:
    """All of one's own that are online and can be asked: what others began is looked at only by
    whoever means to."""
    own = await user_of(client, None)
    machines = [one async for one in client.each("machines") if one["user_id"] == own]
    asked = [one for one in machines if one["online"] and "query" in one["capabilities"]]
    if not asked:
        why = "no machine of yours is online that can be asked; name one with --machine"
        raise CommandFailed(why)
    return [one["id"] for one in asked]


def hint(session: Json) -> str:
    """How to go on with a session by hand, for people; empty where that cannot be done."""
    resume = session.get("resume")
    if not isinstance(resume, dict) or not resume.get("command"):
        return ""
    folder = str(resume.get("folder") or "")
    there = f"cd {shlex.quote(folder)} && " if folder else ""
    return f"resume there with: {there}{resume['command']}"
