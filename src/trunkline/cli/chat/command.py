"""`trunkline chat`: talk to a session from a terminal, or from a script."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import choices, session_work
from trunkline.cli.agents import Workspace, acp_of, check_program
from trunkline.cli.chat.entry import Entry
from trunkline.cli.forks import FromTurn, forked
from trunkline.cli.names import OnMachine, option, resolve_all
from trunkline.cli.output import CommandFailed
from trunkline.cli.remote import (
    AsJson,
    Data,
    Token,
    Url,
    failures,
    find_server,
    given,
)
from trunkline.cli.runtimes_here import Acp, Runtime
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.cli.chat.opening import Opened
    from trunkline.cli.chat.room import Room
    from trunkline.cli.chat.talk import Talk
    from trunkline.client import Client
    from trunkline.client.locate import ServerAccess

_STDIN = "-"
_KINDS = {"session": "sessions", "fork": "sessions", "agent": "agents", "machine": "machines"}
"""Of the options that name a record: what they name."""


def add_to(app: typer.Typer) -> None:
    example = "trunkline chat 'What changed here today?'\n  trunkline chat --session ID"
    app.command("chat", epilog=f"\b\nExample:\n  {example}")(chat)


def chat(
    message: Annotated[
        str | None, typer.Argument(help="One message, - for stdin; without it, a chat.")
    ] = None,
    session: Annotated[
        str | None, option("sessions", "--session", "Go on with this session: id or title.")
    ] = None,
    newest: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the newest session.")
    ] = False,
    fork: Annotated[
        str | None, option("sessions", "--fork", "Go on with a copy of this session: id or title.")
    ] = None,
    from_turn: FromTurn = None,
    agent: Annotated[
        str | None, option("agents", "--agent", "An agent for a new session: id or name.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model for a new session; demo and local need no key.")
    ] = None,
    machine: OnMachine = None,
    runtime: Runtime = None,
    acp: Acp = None,
    workspace: Workspace = None,
    cwd: session_work.Cwd = None,
    worktree: session_work.Worktree = False,
    mode: Annotated[
        choices.Mode | None, typer.Option(help="What it may do without a question.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="A picture or file for the message."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Only watch the session.")] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Talk to a session: streams the answer, shows tools, asks for approvals.

    What you type while it answers reaches it at its next step. Ctrl-C cancels the running answer;
    a second one, or one at the prompt, leaves; /help lists the commands and the keys. The session
    stays and can be taken up again with --continue or --session, or from an earlier turn on with
    --fork. In a pipe stdout has the answer alone. Exit codes: 0 completed, 1 failed, 130 cancelled.
    """
    if follow and session is None:
        raise typer.BadParameter("--follow needs --session")
    if newest and (session or fork) is not None:
        raise typer.BadParameter("--continue, --session and --fork exclude each other")
    is_talking = _is_terminal() and not follow and not as_json and message != _STDIN
    if message == _STDIN or (message is None and not follow and not is_talking):
        message = _read_message()
    if message is not None and not message.strip():
        raise typer.BadParameter("the message is empty")
    if file and message is None:
        raise typer.BadParameter("--file needs a message")
    chosen = agent or model or runtime or machine
    if fork is not None and (session is not None or chosen):
        raise typer.BadParameter("a copy has the agent, settings and machine of its session")
    check_program(runtime, acp, agent)
    if from_turn is not None and fork is None:
        raise typer.BadParameter("--from-turn needs --fork")
    folder = session_work.folder_of(cwd, workspace)
    if (newest or session or fork) and (folder is not None or worktree):
        raise typer.BadParameter("the folder is chosen when a session is made")
    new = given(
        agent_config=_agent_config(agent, model=model, acp=acp_of(acp), permission_mode=mode)
        or None,
        runtime_type=runtime,
        workspace=folder,
        worktree=worktree or None,
    )
    where = partial(find_server, url, token, data, os.environ)
    here = None if cwd is None or folder is None else Path(folder)
    named = {"session": session, "fork": fork, "agent": agent, "machine": machine}
    wanted = _Wanted(where, named, new, from_turn=from_turn, is_newest=newest, folder=here)
    said = None if message is None else Entry(message, files=file or ())
    if is_talking:
        from trunkline.cli.chat.render.layout import wants_colours

        code = _run(_talk(wanted, said, colours=wants_colours(os.environ)))
    else:
        code = _run(_pipe(wanted, said, as_json=as_json))
    raise typer.Exit(code)


def _run(work: Coroutine[Any, Any, int]) -> int:
    with failures():
        return asyncio.run(work)


def _read_message() -> str:
    if sys.stdin.isatty():
        raise typer.BadParameter("here a message is needed, as an argument or on stdin")
    message = sys.stdin.read().strip()
    if not message:
        raise CommandFailed("no message on stdin")
    return message


class _Wanted:
    """Which session is meant, of which server."""

    def __init__(
        self,
        where: "Callable[[], ServerAccess]",
        named: dict[str, str | None],
        new: dict[str, Any],
        *,
        from_turn: str | None,
        is_newest: bool,
        folder: Path | None,
    ) -> None:
        self._where = where
        self._named = named
        self._new = new
        self._from_turn = from_turn
        self._is_newest = is_newest
        self._folder = folder
        self.client: Client | None = None

    async def open(self) -> "Opened":
        from trunkline.cli.chat.opening import made, newest, taken_up
        from trunkline.client import Client

        where = self._where()
        self.client = client = Client(where)
        named = await resolve_all(client, _KINDS, self._named)
        if named["fork"] is not None:
            copy = await forked(client, named["fork"], self._from_turn)
            return await taken_up(client, copy["id"])
        if self._is_newest:
            return await taken_up(client, await newest(client))
        if named["session"] is not None:
            return await taken_up(client, named["session"])
        chosen = {"agent_id": named["agent"], "machine_id": named["machine"]}
        return await made(client, self._folder, **chosen, **self._new)

    async def close(self) -> None:
        if self.client is not None:
            await self.client.http.close()


def _agent_config(agent: str | None, **chosen: Any) -> dict[str, Any]:
    """Without an agent that says otherwise, the person at the terminal is asked first."""
    config = {} if agent is not None else {"confirm": "dangerous"}
    return config | given(**chosen)


def _is_terminal() -> bool:
    """Whether somebody sits there, and it can do more than print."""
    is_there = sys.stdin.isatty() and sys.stdout.isatty()
    return is_there and os.environ.get("TERM", "dumb") != "dumb"


async def _talk(wanted: _Wanted, message: Entry | None, *, colours: bool) -> int:
    from trunkline.cli.chat.talk import Talk

    async def open_room(desk: "Talk") -> "Room":
        await asyncio.to_thread(_load)  # so that what is typed meanwhile shows
        from trunkline.cli.chat.room import Room

        return Room(desk, await wanted.open())

    try:
        return await Talk(open_room, message, colours=colours).run()
    finally:
        await wanted.close()


def _load() -> None:
    import trunkline.cli.chat.room  # noqa: F401


async def _pipe(wanted: _Wanted, message: Entry | None, *, as_json: bool) -> int:
    from trunkline.cli.chat.pipe import Pipe

    try:
        opened = await wanted.open()
        if opened.is_new or message is not None:
            typer.echo(f"session {opened.session_id}", err=True)
        for line in opened.notices if opened.is_new else ():
            typer.echo(one_line(line), err=True)
        pipe = Pipe(opened, as_json=as_json, is_whole=message is None or sys.stdout.isatty())
        return await (pipe.watch() if message is None else pipe.say(message))
    finally:
        await wanted.close()
