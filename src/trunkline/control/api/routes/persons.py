"""Routes of persons, who answer in groups."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.groups.persons import NewPerson, Person, PersonPatch
from trunkline.control.records.page import Page, Paging

routes = Routes("groups")


@routes.post("/persons", status=201)
async def create_person(core: Core, who: Principal, body: NewPerson) -> Person:
    """Make a person.

    It lives on the machine that you name, of whichever kind, or on one that is online when it is
    first asked.
    """
    return await core.groups.persons.create(who, body)


@routes.get("/persons")
async def list_persons(core: Core, who: Principal, query: Paging) -> Page[Person]:
    """List persons."""
    return await core.groups.persons.page(who, query)


@routes.get("/persons/{person_id}")
async def get_person(core: Core, who: Principal, person_id: str) -> Person:
    """Show a person."""
    return await core.groups.persons.get(who, person_id)


@routes.patch("/persons/{person_id}")
async def change_person(core: Core, who: Principal, person_id: str, body: PersonPatch) -> Person:
    """Change a person.

    Conversations follow with the next message; on another machine the person begins anew there,
    and is told what was said.
    """
    return await core.groups.persons.change(who, person_id, body)


@routes.delete("/persons/{person_id}")
async def remove_person(core: Core, who: Principal, person_id: str) -> None:
    """Remove a person, from every group too. Its sessions are closed."""
    await core.groups.remove_person(who, person_id)
