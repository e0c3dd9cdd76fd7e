"""`trunkline machine`: what runs agents: execution planes, devices, agent hosts."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import choices
from trunkline.cli.names import MachineName, OfUser, SomeMachine, called, option, resolve_all
from trunkline.cli.output import Done, Json, Record, Rows, Shown, say
from trunkline.cli.output import show as show_result
from trunkline.cli.people import user_of
from trunkline.cli.remote import (
    AsJson,
    Data,
    Limit,
    Token,
    Url,
    call,
    collect,
    given,
    group,
    remote,
)
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("machine", "Machines that run agents.")


async def with_machines(client: "Client", items: list[Json]) -> list[Json]:
    """What is on machines, with their names: nobody knows them by their ids."""
    if not any(one.get("machine_id") for one in items):
        return items
    found = await collect(client.each("machines", terminated=True), 0)
    names = {one["id"]: one["name"] for one in found}
    return [{**one, "machine": names.get(one["machine_id"]) or one["machine_id"]} for one in items]


@remote(app, "list", example="trunkline machine list")
async def list_machines(
    client: "Client",
    terminated: Annotated[bool, typer.Option("--terminated", help="Also those given up.")] = False,
    limit: Limit = 50,
) -> Rows:
    """List machines."""
    found = await collect(client.each("machines", terminated=terminated or None), limit)
    return Rows(
        found,
        ("id", "name", "state", "last_seen_at", "kind", "detail", "provider"),
        empty="no machines yet: trunkline machine add",
    )


@remote(app, "show", example="trunkline machine show laptop")
async def show(client: "Client", machine_id: MachineName) -> Record:
    """Show a machine, and what it can run."""
    machine = await client.get("machines", machine_id)
    found = await collect(client.each("sessions", machine_id=machine_id), _SESSIONS_NAMED)
    titles = {one["id"]: one["title"] for one in found if one["title"]}
    return _record(machine, titles)


_SESSIONS_NAMED = 50
"""Of one machine; others go by their ids."""


def _record(machine: Json, titles: Mapping[str, str] = MappingProxyType({})) -> Record:
    view = _view(machine)
    if sessions := machine.get("sessions"):
        view |= {"sessions": [titles.get(one, one) for one in sessions]}
    return Record(machine, _can_run(machine.get("runtimes")), view)


_REPEATED = ("health", "degradation", "without_line")
"""What a machine says of itself at length; what people ask for of it stands in other fields."""


def _view(machine: Json) -> Json:
    shown = {name: value for name, value in machine.items() if name not in _REPEATED}
    runtimes = {
        name: one.get("version") or "usable" if one.get("usable") else one.get("reason")
        for name, one in (machine.get("runtimes") or {}).items()
    }
    return {**shown, "runtimes": runtimes}


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


@app.command("add", epilog="\b\nExample:\n  trunkline machine add --name laptop")
def add(
    name: Annotated[
        str | None, typer.Option(help="What it is called. [its own name for itself]")
    ] = None,
    machine: Annotated[
        str | None,
        option("machines", "--machine", "One that is there, to be let in again: id or name."),
    ] = None,
    user: OfUser = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait until it is connected.")
    ] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let another machine in: prints the one line to paste there, and waits until it has come.

    The line has a code in it that works once, for 15 minutes. With --json the code's record is
    printed at once, and nothing is waited for.
    """
    from trunkline.cli import adding

    async def work(client: "Client") -> Shown:
        kinds = {"machine": "machines", "user": "users"}
        meant = await resolve_all(client, kinds, {"machine": machine, "user": user})
        body = given(name=name, machine_id=meant["machine"])
        owner = await user_of(client, meant["user"])
        made = await client.post("users", owner, "join-codes", body=body)
        if as_json:
            return Record(made)
        say(adding.instructions(made))
        if no_wait:
            return Done(adding.left_early(machine or name))
        try:
            come = await adding.arrival(client, made)
        except asyncio.CancelledError:
            say(adding.left_early(machine or name), err=True)
            raise
        return Done(adding.welcome(come, _can_run(come.get("runtimes"))))

    show_result(call(url, token, data, work), as_json=as_json)


@remote(app, "schedule", example="trunkline machine schedule --user Ada --name laptop")
async def schedule(
    client: "Client",
    user: OfUser = None,
    provider: Annotated[
        choices.Provider,
        typer.Option(help="manual: you start it; local: the server starts it on its host."),
    ] = "manual",
    name: Annotated[str | None, typer.Option(help="A name.")] = None,
    dialect: Annotated[
        choices.Dialect | None,
        typer.Option(help="How its daemon speaks the wire. [its habits tell]"),
    ] = None,
) -> Record:
    """Schedule an execution plane and print what a daemon of the wire needs to connect.

    For people there is `trunkline machine add`.

    `start_command` is the line to run there, `environment` what it is made of. The ticket works
    once and for half a minute, the token alone for longer.
    """
    body = given(provider=provider, name=name, dialect=dialect)
    user_id = await user_of(client, user)
    made = await client.post("users", user_id, "vm", body=body)
    return Record({"user_id": user_id, **made})


@remote(app, "add-device", example="trunkline machine add-device --guid phone-1")
async def add_device(
    client: "Client",
    user: OfUser = None,
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
    user: OfUser = None,
    name: Annotated[str | None, typer.Option(help="A name.")] = None,
) -> Record:
    """Let a Yeaft agent in and print its id and secret."""
    user_id = await user_of(client, user)
    return Record(await client.post("users", user_id, "yeaft-agents", body=given(name=name)))


@remote(app, "set-dialect", example="trunkline machine set-dialect laptop documented")
async def set_dialect(
    client: "Client",
    machine_id: MachineName,
    dialect: Annotated[choices.KnownDialect, typer.Argument(help="unknown: its habits tell anew.")],
) -> Record:
    """Say how an execution plane speaks its wire, from its next connection on."""
    body = {"dialect": None if dialect == "unknown" else dialect}
    return _record(await client.patch("machines", machine_id, body=body))


@remote(app, "rename", example="trunkline machine rename 'this computer' desk")
async def rename(client: "Client", machine_id: MachineName, name: str) -> Record:
    """Rename a machine."""
    return _record(await client.patch("machines", machine_id, body={"name": name}))


@remote(app, "default", example="trunkline machine default laptop")
async def default(
    client: "Client",
    machine: SomeMachine = None,
    clear: Annotated[bool, typer.Option("--clear", help="None: one online is picked.")] = False,
    user: OfUser = None,
) -> Done:
    """Show or choose the machine for sessions that name none, while it is online."""
    if machine is not None and clear:
        raise typer.BadParameter("a machine or --clear, not both")
    user_id = await user_of(client, user)
    if machine is not None or clear:
        person = await client.patch("users", user_id, body={"default_machine_id": machine})
    else:
        person = await client.get("users", user_id)
    chosen = person["default_machine_id"]
    if chosen is None:
        return Done("no default machine: of those online, the one with the fewest sessions is used")
    found = await client.get("machines", chosen)
    state = "online" if found["online"] else found["state"]
    return Done(f"the default machine is {found['name']} ({chosen}), {state}")


@remote(app, "drain", example="trunkline machine drain laptop")
async def drain(
    client: "Client",
    machine_id: MachineName,
    off: Annotated[bool, typer.Option("--off", help="It takes new sessions again.")] = False,
) -> Record:
    """Give a machine no new sessions. Those that it has stay; move or close them to empty it."""
    body = {"drain": not off}
    return _record(await client.post("machines", machine_id, "drain", body=body))


@remote(app, "token", example="trunkline machine token laptop")
async def token(client: "Client", machine_id: MachineName) -> Record:
    """Print a new token and ticket for an execution plane that is scheduled already."""
    machine = await client.get("machines", machine_id)
    made = await client.post("machines", machine_id, "token")
    return Record({"user_id": machine["user_id"], **made})


@remote(app, "revoke-token", example="trunkline machine revoke-token laptop")
async def revoke_token(client: "Client", machine_id: MachineName, is_sure: Sure = False) -> Done:
    """End what a machine may connect with, and its line. The machine stays; give it a new token."""
    named = await called(client, "machines", machine_id)
    if not is_sure:
        make_sure(f"Cut the line of {named}, and end what it connects with?")
    await client.post("machines", machine_id, "revoke-token")
    return Done(f"revoked what {named} could connect with")


@remote(app, "terminate", example="trunkline machine terminate laptop")
async def terminate(client: "Client", machine_id: MachineName, is_sure: Sure = False) -> Done:
    """Give a machine up for good: its line is closed, its local process stopped."""
    named = await called(client, "machines", machine_id)
    if not is_sure:
        make_sure(f"Give {named} up for good?")
    await client.delete("machines", machine_id)
    return Done(f"terminated {named}")
