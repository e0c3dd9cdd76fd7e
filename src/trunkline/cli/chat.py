"""`trunkline chat`: talk to a session from a terminal."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from trunkline.cli import session_work
from trunkline.cli.agents import Acp, Mode, Workspace, acp_of
from trunkline.cli.forks import FromTurn, forked
from trunkline.cli.machines import MachineName, id_of_machine
from trunkline.cli.output import CommandFailed
from trunkline.cli.remote import (
    AsJson,
    Data,
    Token,
    Url,
    check_server,
    failures,
    find_server,
    given,
)
from trunkline.cli.typing import typed
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.cli.conversation import Answer, Conversation
    from trunkline.client import Client, Event, Session


COMPACT = "/compact"


def add_to(app: typer.Typer) -> None:
    example = "trunkline chat 'What changed here today?'\n  trunkline chat --session ID"
    app.command("chat", epilog=f"\b\nExample:\n  {example}")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="One message; without it, a chat.")] = None,
    session: Annotated[str | None, typer.Option(help="Go on with this session.")] = None,
    fork: Annotated[
        str | None, typer.Option(help="Go on with a copy of this session.", metavar="SESSION")
    ] = None,
    from_turn: FromTurn = None,
    agent: Annotated[str | None, typer.Option(help="Id of an agent, for a new session.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Model for a new session; demo and local need no key.")
    ] = None,
    machine: MachineName = None,
    runtime: Annotated[str | None, typer.Option(help="The runtime. [the agent's]")] = None,
    acp: Acp = None,
    workspace: Workspace = None,
    cwd: session_work.Cwd = None,
    worktree: session_work.Worktree = False,
    mode: Mode = None,
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
    a second one, or one at the prompt, leaves. The session stays and can be taken up again with
    --session, or from an earlier turn on with --fork. /compact shortens what the model reads of it.
    """
    from trunkline.cli.conversation import Conversation
    from trunkline.client import Client

    if follow and session is None:
        raise typer.BadParameter("--follow needs --session")
    if file and message is None and sys.stdin.isatty():
        raise typer.BadParameter("--file needs a message")
    if message is None and not follow and not sys.stdin.isatty():
        message = sys.stdin.read().strip()
        if not message:
            raise CommandFailed("no message on stdin")
    if fork is not None and (session is not None or agent or model or runtime or machine):
        raise typer.BadParameter("a copy has the agent, settings and machine of its session")
    if from_turn is not None and fork is None:
        raise typer.BadParameter("--from-turn needs --fork")
    folder = session_work.folder_of(cwd, workspace)
    if (session or fork) is not None and (folder is not None or worktree):
        raise typer.BadParameter("the folder is chosen when a session is made")
    new = given(
        agent_id=agent,
        agent_config=_agent_config(agent, model=model, acp=acp_of(acp), permission_mode=mode)
        or None,
        runtime_type=runtime,
        workspace=folder,
        worktree=worktree or None,
    )
    where = find_server(url, token, data, os.environ)
    show = _json_line if as_json else _printer(is_here=cwd is not None)
    with failures(), asyncio.Runner() as runner:
        client = Client(where.url, where.token)
        talk: Conversation | None = None
        try:
            runner.run(check_server(client, where))
            if fork is not None:
                session = runner.run(forked(client, fork, from_turn))["id"]
                typer.echo(f"session {session}", err=True)
            found = runner.run(_open(client, session, machine, new))
            talk = Conversation(client, found, show, partial(ask, found.id))
            if follow:
                runner.run(talk.follow())
            elif message is not None:
                _announce(found, is_new=session is None)
                if not runner.run(_turn(talk, message, file or ())):
                    raise typer.Exit(1)
            else:
                _announce(found, is_new=session is None)
                _converse(runner, talk)
        finally:
            if talk is not None:
                runner.run(talk.close())
            runner.run(client.http.close())


async def _open(
    client: "Client", session_id: str | None, machine: str | None, new: dict[str, Any]
) -> "Session":
    if session_id is not None:
        return await client.sessions.get(session_id)
    return await client.sessions.create(machine_id=await id_of_machine(client, machine), **new)


def _agent_config(agent: str | None, **chosen: Any) -> dict[str, Any]:
    """Without an agent that says otherwise, the person at the terminal is asked first."""
    config = {} if agent is not None else {"confirm": "dangerous"}
    return config | given(**chosen)


def _announce(session: "Session", *, is_new: bool) -> None:
    """On stderr: stdout is for what was said."""
    if is_new:
        typer.echo(f"session {session.id}", err=True)


def _converse(runner: asyncio.Runner, talk: "Conversation") -> None:
    while True:
        try:
            message = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            typer.echo()
            return
        if message == COMPACT:
            runner.run(_interruptible(talk, talk.compact()))
        elif message:
            runner.run(_turn(talk, message))


async def _turn(talk: "Conversation", message: str, files: Sequence[Path] = ()) -> bool:
    return await _interruptible(talk, _typing(talk, message, files))


async def _interruptible(talk: "Conversation", work: Coroutine[Any, Any, bool]) -> bool:
    """What Ctrl-C cancels, first on the machine, then here."""
    loop = asyncio.get_running_loop()
    turn = asyncio.ensure_future(work)
    cancelling: list[asyncio.Task[None]] = []

    def interrupt() -> None:
        if cancelling:
            turn.cancel()
        else:
            cancelling.append(loop.create_task(cancel(talk)))

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await turn
    except asyncio.CancelledError:
        raise CommandFailed("left in the middle of an answer") from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*cancelling)


async def _typing(talk: "Conversation", message: str, files: Sequence[Path]) -> bool:
    """What is typed while it runs is said to the turn."""
    with typed(talk.steer):
        return await talk.turn(message, files)


async def cancel(talk: "Conversation") -> None:
    from trunkline.client import ClientError

    try:
        await talk.cancel()
    except ClientError as error:
        typer.echo(f"could not cancel: {one_line(str(error))} (Ctrl-C leaves)", err=True)


def _printer(*, is_here: bool) -> "Callable[[Event], None]":
    """`is_here`: the folder was named as this computer knows it."""
    from trunkline.cli.transcript import Transcript

    transcript = Transcript(colours=sys.stdout.isatty() and "NO_COLOR" not in os.environ)

    def show(event: "Event") -> None:
        sys.stdout.write(transcript.render(event))
        sys.stdout.flush()
        if is_here and event.data.get("code") == "WORKSPACE_REFUSED":
            typer.echo(session_work.REFUSED, err=True)

    return show


def _json_line(event: "Event") -> None:
    typer.echo(json.dumps({"id": event.id, **event.data}))


def ask(session_id: str, event: "Event") -> "Answer | None":
    """Asks the person here, if there is one; otherwise says how to answer from elsewhere."""
    from trunkline.cli.conversation import Answer, approval_name
    from trunkline.cli.questions import CUT, is_cut, question, summary

    if not sys.stdin.isatty():
        name = shlex.quote(one_line(approval_name(event) or ""))
        command = f"trunkline session answer {name} --session {session_id} --yes"
        if _wants_text(event):
            command += ' --answer "…"'
        typer.echo(f"waits for an answer: {command}", err=True)
        return None
    _show_whole(question(event.data))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if is_cut(event.data):
            return Answer(False) if typer.confirm(f"{CUT} Deny it?", err=True) else None
        if _wants_text(event):
            return Answer(True, typer.prompt("your answer", err=True))
        lasts = "session/always" if event.data.get("rule") else "session"
        return _allowed(f"{summary(event.data)} [y/N/{lasts}, or n and why]")
    except (typer.Abort, KeyboardInterrupt):
        return Answer(False)
    finally:
        signal.signal(signal.SIGINT, before)


def _allowed(asked: str) -> "Answer":
    from trunkline.cli.conversation import Answer

    while True:
        text = typer.prompt(asked, default="", show_default=False, err=True).strip()
        said, _, reason = text.partition(" ")
        match said.lower():
            case "" | "n" | "no":
                return Answer(False, reason=reason.strip() or None)
            case "y" | "yes" if not reason:
                return Answer(True)
            case "s" | "session" if not reason:
                return Answer(True, scope="session")
            case "a" | "always" if not reason:
                return Answer(True, scope="always")


def _show_whole(text: str) -> None:
    """What does not fit on the screen is shown page by page; what went into a file or a pipe, here
    again."""
    from trunkline.cli.questions import rows_on_screen

    width, height = shutil.get_terminal_size()
    if not sys.stdout.isatty():
        typer.echo(text, err=True)
    elif rows_on_screen(text, width) >= height - 1:
        click.echo_via_pager(text)


def _wants_text(event: "Event") -> bool:
    """Whether a yes alone is no answer."""
    return event.data.get("kind") in ("input", "select")
