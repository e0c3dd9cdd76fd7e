"""`trunkline session`: conversations, their logs, and what they ask of a person."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import adopting, choices, forks, retention, session_list, session_work
from trunkline.cli.agents import Workspace, acp_of, check_program, pair
from trunkline.cli.machines import with_machines
from trunkline.cli.names import (
    ApprovalName,
    Named,
    OfAgent,
    OnMachine,
    SessionName,
    called,
    option,
)
from trunkline.cli.output import Done, Json, Record, Rows
from trunkline.cli.remote import Limit, collect, given, group, remote
from trunkline.cli.runtimes_here import Acp, Runtime

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("session", "Sessions.")
adopting.add_to(app)
session_work.add_to(app)
forks.add_to(app)
retention.add_to_sessions(app)
session_list.add_to(app)


@remote(app, "list", example="trunkline session list --status active")
async def list_sessions(
    client: "Client",
    status: Annotated[choices.Status | None, typer.Option(help="Only these.")] = None,
    is_archived: Annotated[bool, typer.Option("--archived", help="Those out of sight.")] = False,
    limit: Limit = 50,
) -> Rows:
    """List sessions: pinned ones first, then by their newest activity."""
    wanted = client.each("sessions", status=status, archived=is_archived)
    found = await collect(wanted, limit)
    columns = ("id", "title", "state", "last_activity_at", "machine", "runtime_type")
    shown = await with_machines(client, found)
    return Rows(shown, columns, raw=found, empty="no sessions yet: trunkline chat")


@remote(app, "create", example="trunkline session create --agent Coder --title 'Fix the build'")
async def create(
    client: "Client",
    agent: OfAgent = None,
    machine: OnMachine = None,
    runtime: Runtime = None,
    acp: Acp = None,
    workspace: Workspace = None,
    cwd: session_work.Cwd = None,
    worktree: session_work.Worktree = False,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
) -> Record:
    """Make a session and pin it to a machine."""
    check_program(runtime, acp, agent)
    config = given(acp=acp_of(acp)) or None
    body = given(
        agent_id=agent,
        agent_config=config,
        machine_id=machine,
        runtime_type=runtime,
        title=title,
        workspace=session_work.folder_of(cwd, workspace),
        worktree=worktree or None,
    )
    return Record(await client.post("sessions", body=body))


@remote(app, "show", example="trunkline session show 'Fix the build'")
async def show(client: "Client", session_id: SessionName) -> Record:
    """Show a session, and how to go on with it in a terminal where it runs."""
    session = await client.get("sessions", session_id)
    return Record(session, adopting.hint(session))


@remote(app, "log", example="trunkline session log 'Fix the build' --after 120 --json")
async def log(
    client: "Client",
    session_id: SessionName,
    after: Annotated[int, typer.Option(min=0, help="The last event id that you have.")] = 0,
    limit: Limit = 200,
) -> Rows:
    """Print the events of a session."""
    items: list[Json] = []
    async for event in client.sessions.events(session_id, after):
        items.append({"id": event.id, "type": event.type, "event": event.data})
        if len(items) == limit:
            break
    view = [{**one, "event": _said(one["event"])} for one in items]
    return Rows(items, ("id", "type", "event"), view=view, empty="nothing happened in it yet")


def _said(event: Json) -> Json | str:
    """What people want to know of an event: its words, if it has any."""
    if isinstance(event.get("content"), str):
        return str(event["content"])
    return {name: value for name, value in event.items() if name not in ("type", "turn_id", "ts")}


@remote(app, "rename", example="trunkline session rename 'Fix the build' 'A better title'")
async def rename(client: "Client", session_id: SessionName, title: str) -> Record:
    """Give a session a title."""
    return Record(await client.patch("sessions", session_id, body={"title": title}))


@remote(app, "configure", example="trunkline session configure 'Fix the build' temperature=0.2")
async def configure(
    client: "Client",
    session_id: SessionName,
    changes: Annotated[list[str], typer.Argument(help="NAME=VALUE; VALUE is JSON or text.")],
) -> Done:
    """Change parameters of a running session."""
    await client.sessions.configure(session_id, **dict(map(pair, changes)))
    return Done(f"configured {await called(client, 'sessions', session_id)}")


@remote(app, "cancel", example="trunkline session cancel 'Fix the build'")
async def cancel(client: "Client", session_id: SessionName) -> Done:
    """Cancel what a session is doing."""
    await client.sessions.cancel(session_id)
    return Done(f"cancelled {await called(client, 'sessions', session_id)}")


@remote(app, "close", example="trunkline session close 'Fix the build'")
async def close(client: "Client", session_id: SessionName) -> Done:
    """Stop a session on its machine; its log stays, and unapplied work in its worktree."""
    session = await client.get("sessions", session_id)
    await client.sessions.close(session_id)
    has_worktree = (session["agent_config"] | session["session_config"]).get("worktree")
    kept = "; what it did and nobody applied is kept: trunkline session diff|apply|discard"
    named = await called(client, "sessions", session_id)
    return Done(f"closed {named}{kept if has_worktree else ''}")


@remote(app, "approvals", example="trunkline session approvals")
async def approvals(
    client: "Client",
    session: Annotated[
        str | None,
        option("sessions", "--session", "Only of this session: id or title."),
        Named("sessions"),
    ] = None,
    limit: Limit = 50,
) -> Rows:
    """List the questions that wait for a person, over all sessions."""
    found = await collect(client.each("approvals", session_id=session), limit)
    columns = ("id", "session_id", "created_at", "request")
    return Rows(found, columns, empty="no questions wait", whole="request")


@remote(app, "answer", example="trunkline session answer 01a1dd16 --yes")
async def answer(
    client: "Client",
    approval_id: ApprovalName,
    confirmed: Annotated[bool, typer.Option("--yes/--no", help="Allow it or not.")],
    text: Annotated[str | None, typer.Option("--answer", help="What it asked for.")] = None,
    scope: Annotated[
        choices.Lasts | None, typer.Option(help="For how long it is answered. [once]")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, in words for the agent.")] = None,
    session: Annotated[
        str | None,
        option("sessions", "--session", "The session that asks: id or title."),
        Named("sessions"),
    ] = None,
) -> Record:
    """Answer a question. The first answer wins."""
    more = given(answer=text, session_id=session, scope=scope, reason=reason)
    body = {"confirmed": confirmed, **more}
    found = await client.post("approvals", approval_id, body=body)
    request = found["request"]
    shown = {name: found[name] for name in ("id", "session_id", "state", "answer", "answered_at")}
    asked = {"question": request.get("message"), "tool": request.get("tool_name")}
    return Record(found, view=asked | shown)
