"""`trunkline machine`: what runs agents: execution planes, devices, agent hosts."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import CommandFailed, Done, Json, Record, Rows
from trunkline.cli.people import User, user_of
from trunkline.cli.remote import Limit, collect, given, group, remote
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("machine", "Machines that run agents.")

MachineName = Annotated[
    str | None, typer.Option("--machine", help="A machine's id, guid or name. [one online]")
]


async def id_of_machine(client: "Client", named: str | None) -> str | None:
    """A machine's name becomes its id; what is nobody's name is for the server to understand."""
    if not named:
        return named
    machines = await collect(client.each("machines"), 0)
    if any(one["id"] == named for one in machines):
        return named
    found = [one["id"] for one in machines if one["name"] == named]
    if len(found) > 1:
        raise CommandFailed(
            f"{len(found)} machines are named {one_line(named)!r}: give the id of one of them "
            f"({', '.join(found)})"
        )
    return found[0] if found else named


@remote(app, "list", example="trunkline machine list")
async def list_machines(
    client: "Client",
    terminated: Annotated[bool, typer.Option("--terminated", help="Also those given up.")] = False,
    limit: Limit = 50,
) -> Rows:
    """List machines."""
    found = await collect(client.each("machines", terminated=terminated or None), limit)
    return Rows(found, ("id", "name", "kind", "provider", "state", "last_seen_at", "detail"))


@remote(app, "show", example="trunkline machine show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show(client: "Client", machine_id: str) -> Record:
    """Show a machine, and what it can run."""
    machine = await client.get("machines", machine_id)
    return Record(machine, _can_run(machine.get("runtimes")))


def _can_run(runtimes: Json | None) -> str:
    """In one line: what is usable, with versions."""

    def told(entries: Json) -> list[str]:
        found = []
        for name, one in entries.items():
            if one.get("usable"):
                programs = told(one.get("presets") or {})
                parts = (name, one.get("version"), programs and f"({', '.join(programs)})")
                found.append(" ".join(str(part) for part in parts if part))
        return found

    return f"can run: {', '.join(told(runtimes)) or 'nothing'}" if runtimes else ""


@remote(app, "schedule", example="trunkline machine schedule --user ID --name laptop")
async def schedule(
    client: "Client",
    user: User = None,
    provider: Annotated[
        str, typer.Option(help="manual: you start it; local: the server starts it on its host.")
    ] = "manual",
    name: Annotated[str | None, typer.Option(help="A name.")] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            help="documented or deployed: how its daemon speaks the wire. [its habits tell]"
        ),
    ] = None,
) -> Record:
    """Schedule an execution plane and print what it needs to connect.

    Its daemon takes them as USER_ID, VM_TOKEN, VM_TICKET and CONTROL_PLANE_WS (the ws_url). The
    ticket works once and for half a minute.
    """
    body = given(provider=provider, name=name, dialect=dialect)
    user_id = await user_of(client, user)
    made = await client.post("users", user_id, "vm", body=body)
    return Record({"user_id": user_id, **made})


@remote(app, "add-device", example="trunkline machine add-device --guid phone-1")
async def add_device(
    client: "Client",
    user: User = None,
    guid: Annotated[str | None, typer.Option(help="The device's own name for itself.")] = None,
    app_: Annotated[
        list[str] | None, typer.Option("--app", help="An app that it runs; may be repeated.")
    ] = None,
) -> Record:
    """Let an AGP device in and print its token. A guid that is there already gets a new one."""
    body = given(guid=guid, agent_apps=app_)
    return Record(await client.post("users", await user_of(client, user), "devices", body=body))


@remote(app, "add-yeaft-agent", example="trunkline machine add-yeaft-agent --name laptop")
async def add_yeaft_agent(
    client: "Client",
    user: User = None,
    name: Annotated[str | None, typer.Option(help="A name.")] = None,
) -> Record:
    """Let a Yeaft agent in and print its id and secret."""
    user_id = await user_of(client, user)
    return Record(await client.post("users", user_id, "yeaft-agents", body=given(name=name)))


@remote(app, "set-dialect", example="trunkline machine set-dialect ID documented")
async def set_dialect(
    client: "Client",
    machine_id: str,
    dialect: Annotated[
        str, typer.Argument(help="documented, deployed, or unknown: its habits tell anew.")
    ],
) -> Record:
    """Say how an execution plane speaks its wire, from its next connection on."""
    body = {"dialect": None if dialect == "unknown" else dialect}
    return Record(await client.patch("machines", machine_id, body=body))


@remote(app, "token", example="trunkline machine token ID")
async def token(client: "Client", machine_id: str) -> Record:
    """Print a new token and ticket for an execution plane that is scheduled already."""
    machine = await client.get("machines", machine_id)
    made = await client.post("machines", machine_id, "token")
    return Record({"user_id": machine["user_id"], **made})


@remote(app, "revoke-token", example="trunkline machine revoke-token ID")
async def revoke_token(client: "Client", machine_id: str) -> Done:
    """End what a machine may connect with, and its line. The machine stays; give it a new token."""
    await client.post("machines", machine_id, "revoke-token")
    return Done(f"revoked what {machine_id} could connect with")


@remote(app, "terminate", example="trunkline machine terminate ID")
async def terminate(client: "Client", machine_id: str) -> Done:
    """Give a machine up: its line is closed, its local process stopped."""
    await client.delete("machines", machine_id)
    return Done(f"terminated {machine_id}")
