"""`trunkline person` and `trunkline group`: persons that answer together."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.agents import Model, Prompt, Runtime, text_of
from trunkline.cli.machines import id_of_machine
from trunkline.cli.output import Json
from trunkline.cli.records import Records
from trunkline.cli.remote import given, group, taken

if TYPE_CHECKING:
    from trunkline.client import Client

persons = group("person", "Persons, who answer in groups.")
groups = group("group", "Groups of persons.")

Home = Annotated[
    str | None, typer.Option("--machine", help="Where it lives: a machine's id, guid or name.")
]
Members = Annotated[
    list[str] | None, typer.Option("--person", help="Who is in it: an id or a name; repeatable.")
]


async def _person(
    client: "Client",
    prompt: Prompt = None,
    model: Model = None,
    machine: Home = None,
    runtime: Runtime = None,
) -> Json:
    where = await id_of_machine(client, machine)
    return given(prompt=text_of(prompt), model=model, machine_id=where, runtime_type=runtime)


async def _group(client: "Client", person: Members = None) -> Json:
    return given(person_ids=await _ids(client, person) if person else None)


async def _ids(client: "Client", persons: list[str]) -> list[str]:
    """Names become ids; what is no name is taken for an id."""
    known = {one["name"]: one["id"] for one in await taken(client.each("persons"), 0)}
    return [known.get(one, one) for one in persons]


def _shown(group: Json) -> Json:
    """A group with its persons by name."""
    return {**group, "persons": [one["name"] for one in group["persons"]]}


_persons = Records(
    persons, "person", ("id", "name", "model", "machine_id", "runtime_type", "created_at")
)
_persons.can_list()
_persons.can_create(_person, "alice --prompt @alice.md")
_persons.can_show()
_persons.can_update(_person, "--model small")
_persons.can_delete("Delete {}, from every group too.")

_groups = Records(groups, "group", ("id", "name", "persons", "created_at"), _shown)
_groups.can_list()
_groups.can_create(
    _group,
    "team --person alice --person bob",
    "Make {}. A session with its id as machine is a conversation.",
)
_groups.can_show()
_groups.can_update(_group, "--person alice --person carol", "Rename {}, or say anew who is in it.")
_groups.can_delete("Delete {}; its conversations are closed, its persons stay.")
