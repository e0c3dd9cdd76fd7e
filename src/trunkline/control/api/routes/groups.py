"""Routes of persons, and of groups: persons who are talked to together."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.groups.persons import NewPerson, Person, PersonPatch
from trunkline.control.groups.records import Group, GroupPatch, NewGroup
from trunkline.control.records.page import Page, Paging

persons = Routes("groups")
groups = Routes("groups")


@persons.post("/persons", status=201, audit="person.made")
async def create_person(core: Core, who: Principal, body: NewPerson) -> Person:
    """Make a person.

    It lives on the machine that you name, of whichever kind, or on one that is online when it is
    first asked.
    """
    return await core.groups.persons.create(who, body)


@persons.get("/persons")
async def list_persons(core: Core, who: Principal, query: Paging) -> Page[Person]:
    """List persons."""
    return await core.groups.persons.page(who, query)


@persons.get("/persons/{person_id}")
async def get_person(core: Core, who: Principal, person_id: str) -> Person:
    """Show a person."""
    return await core.groups.persons.get(who, person_id)


@persons.patch("/persons/{person_id}", audit="person.changed")
async def change_person(core: Core, who: Principal, person_id: str, body: PersonPatch) -> Person:
    """Change a person.

    Conversations follow with the next message; on another machine the person begins anew there,
    and is told what was said.
    """
    return await core.groups.persons.change(who, person_id, body)


@persons.delete("/persons/{person_id}", audit="person.removed")
async def remove_person(core: Core, who: Principal, person_id: str) -> None:
    """Remove a person, from every group too. Its sessions are closed."""
    await core.groups.remove_person(who, person_id)


@groups.post("/groups", status=201, audit="group.made")
async def create_group(core: Core, who: Principal, body: NewGroup) -> Group:
    """Make a group.

    Its `id` is a machine's: `POST /sessions` with it as `machine_id` starts a conversation.
    """
    return await core.groups.create(who, body)


@groups.get("/groups")
async def list_groups(core: Core, who: Principal, query: Paging) -> Page[Group]:
    """List groups with their persons."""
    return await core.groups.records.page(who, query)


@groups.get("/groups/{group_id}")
async def get_group(core: Core, who: Principal, group_id: str) -> Group:
    """Show a group."""
    return await core.groups.records.get(who, group_id)


@groups.patch("/groups/{group_id}", audit="group.changed")
async def change_group(core: Core, who: Principal, group_id: str, body: GroupPatch) -> Group:
    """Rename a group, or say anew who is in it.

    Whoever is not in it any more has its sessions closed.
    """
    return await core.groups.change(who, group_id, body)


@groups.delete("/groups/{group_id}", audit="group.removed")
async def remove_group(core: Core, who: Principal, group_id: str) -> None:
    """Remove a group.

    Its conversations are closed; their logs stay readable. Its persons stay.
    """
    await core.groups.remove(who, group_id)
