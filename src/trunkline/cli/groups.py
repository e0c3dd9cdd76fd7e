"""`trunkline person` and `trunkline group`: persons that answer together."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.agents import Model, Prompt, Runtime, text_of
from trunkline.cli.output import Done, Json, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

persons = group("person", "Persons, who answer in groups.")
groups = group("group", "Groups of persons.")

MachineId = Annotated[str | None, typer.Option("--machine", help="The machine it lives on.")]
Members = Annotated[
    list[str] | None, typer.Option("--person", help="Who is in it: an id or a name; repeatable.")
]
NewName = Annotated[str | None, typer.Option(help="A new name.")]


@remote(persons, "list", example="trunkline person list")
async def list_persons(client: "Client", limit: Limit = 50) -> Rows:
    """List persons."""
    columns = ("id", "name", "model", "machine_id", "runtime_type", "created_at")
    return Rows(await taken(client.each("persons"), limit), columns)


@remote(persons, "create", example="trunkline person create alice --prompt @alice.md")
async def create_person(
    client: "Client",
    name: str,
    prompt: Prompt = None,
    model: Model = None,
    machine: MachineId = None,
    runtime: Runtime = None,
) -> Record:
    """Make a person."""
    body = {"name": name, **_person(prompt, model, machine, runtime)}
    return Record(await client.post("persons", body=body))


@remote(persons, "show", example="trunkline person show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show_person(client: "Client", person_id: str) -> Record:
    """Show a person."""
    return Record(await client.get("persons", person_id))


@remote(persons, "update", example="trunkline person update ID --model small")
async def update_person(
    client: "Client",
    person_id: str,
    name: NewName = None,
    prompt: Prompt = None,
    model: Model = None,
    machine: MachineId = None,
    runtime: Runtime = None,
) -> Record:
    """Change a person; what is not named stays."""
    body = {**given(name=name), **_person(prompt, model, machine, runtime)}
    return Record(await client.patch("persons", person_id, body=body))


@remote(persons, "delete", example="trunkline person delete 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def delete_person(client: "Client", person_id: str) -> Done:
    """Delete a person, from every group too."""
    await client.delete("persons", person_id)
    return Done(f"deleted {person_id}")


@remote(groups, "list", example="trunkline group list")
async def list_groups(client: "Client", limit: Limit = 50) -> Rows:
    """List groups."""
    found = [_shown(one) for one in await taken(client.each("groups"), limit)]
    return Rows(found, ("id", "name", "persons", "created_at"))


@remote(groups, "create", example="trunkline group create team --person alice --person bob")
async def create_group(client: "Client", name: str, person: Members = None) -> Record:
    """Make a group. A session with its id as machine is a conversation."""
    body = {"name": name, "person_ids": await _ids(client, person or [])}
    return Record(_shown(await client.post("groups", body=body)))


@remote(groups, "show", example="trunkline group show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show_group(client: "Client", group_id: str) -> Record:
    """Show a group."""
    return Record(_shown(await client.get("groups", group_id)))


@remote(groups, "update", example="trunkline group update ID --person alice --person carol")
async def update_group(
    client: "Client", group_id: str, name: NewName = None, person: Members = None
) -> Record:
    """Rename a group, or say anew who is in it."""
    body = given(name=name)
    if person:
        body["person_ids"] = await _ids(client, person)
    return Record(_shown(await client.patch("groups", group_id, body=body)))


@remote(groups, "delete", example="trunkline group delete 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def delete_group(client: "Client", group_id: str) -> Done:
    """Delete a group; its conversations are closed, its persons stay."""
    await client.delete("groups", group_id)
    return Done(f"deleted {group_id}")


def _person(
    prompt: str | None, model: str | None, machine: str | None, runtime: str | None
) -> Json:
    return given(prompt=text_of(prompt), model=model, machine_id=machine, runtime_type=runtime)


async def _ids(client: "Client", persons: list[str]) -> list[str]:
    """Names become ids; what is no name is taken for an id."""
    known = {one["name"]: one["id"] for one in await taken(client.each("persons"), 0)}
    return [known.get(one, one) for one in persons]


def _shown(group: Json) -> Json:
    """A group with its persons by name."""
    return {**group, "persons": [one["name"] for one in group["persons"]]}
