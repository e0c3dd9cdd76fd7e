"""What a session did to files: `trunkline session files`, and `diff`, `apply`, `discard` of its
worktree."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import limits
from trunkline.cli.names import SessionName, called
from trunkline.cli.output import CommandFailed, Done, Record, Rows, Shown, Text
from trunkline.cli.remote import remote
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client

Cwd = Annotated[
    Path | None,
    typer.Option(
        help="The folder that it works in, as seen from here: for a machine on this host."
    ),
]
Worktree = Annotated[
    bool, typer.Option("--worktree", help="In a git worktree of its own, made of that folder.")
]

REFUSED = (
    "The folder is one of this computer. If the session's machine is another one, name a folder"
    " there (--workspace); if it is this one, its owner allows the folder with --root:"
    " `trunkline up --root FOLDER`, `trunkline node --root FOLDER`."
)


def folder_of(cwd: Path | None, workspace: str | None) -> str | None:
    """What a session is told of its folder."""
    if cwd is None:
        return workspace
    if workspace is not None:
        raise typer.BadParameter("--cwd and --workspace exclude each other")
    folder = cwd.expanduser().resolve()
    if not folder.is_dir():
        raise CommandFailed(f"--cwd: there is no folder {str(folder)!r}")
    return str(folder)


def add_to(app: typer.Typer) -> None:
    remote(
        app, "files", example="trunkline session files 'Fix the build' report.md --output report.md"
    )(files)
    remote(app, "diff", example="trunkline session diff 'Fix the build' | less")(diff)
    remote(app, "apply", example="trunkline session apply 'Fix the build'")(apply)
    remote(app, "discard", example="trunkline session discard 'Fix the build'")(discard)


async def files(
    client: "Client",
    session_id: SessionName,
    path: Annotated[str | None, typer.Argument(help="One of them, to be printed.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file.")
    ] = None,
) -> Shown:
    """List the files that a session made or changed, or fetch one."""
    if path is None:
        found = await client.get("sessions", session_id, "files")
        columns = ("path", "change", "size", "modified_at")
        return Rows(found["files"], columns, empty="it has made or changed no files")
    if output is None and sys.stdout.isatty():
        raise CommandFailed("a file is written to a terminal only through a pipe; or give --output")
    from trunkline.cli.saving import save

    return await save(_parts(client, session_id, path), output, f"fetching {path}")


async def _parts(client: "Client", session_id: str, path: str) -> AsyncIterator[bytes]:
    offset, most = 0, limits.SESSION_FILE_PART_BYTES_MAX
    while True:
        part = await client.http.call(
            "GET",
            *("sessions", session_id, "files", path),
            query={"offset": offset, "length": most},
        )
        yield part
        offset += len(part)
        if len(part) < most:
            return


async def diff(client: "Client", session_id: SessionName) -> Text:
    """Show what a session has done in its worktree since it began."""
    from trunkline.cli.chat.render.diff import coloured
    from trunkline.cli.chat.render.layout import wants_colours

    found = await client.get("sessions", session_id, "diff")
    told = f"\n(cut here; all of it is in {found['folder']})\n" if found["truncated"] else ""
    text = found["diff"] + told
    return Text(text, found, coloured(text, colours=wants_colours(os.environ)))


async def apply(client: "Client", session_id: SessionName) -> Record:
    """Bring it onto the working tree that the worktree was made from, uncommitted; all or none."""
    return Record(await client.post("sessions", session_id, "apply"))


async def discard(
    client: "Client",
    session_id: SessionName,
    is_sure: Sure = False,
) -> Done:
    """Throw away what a session has done in its worktree."""
    if not is_sure:
        make_sure(f"Throw away what {await called(client, 'sessions', session_id)} has done?")
    done = await client.post("sessions", session_id, "discard")
    return Done(f"discarded the work on {done['branch']}")
