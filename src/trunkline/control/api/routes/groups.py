"""Routes of groups: persons who are talked to together."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.groups.records import Group, GroupPatch, NewGroup
from trunkline.control.records.page import Page, Paging

routes = Routes("groups")


@routes.post("/groups", status=201)
async def create_group(core: Core, who: Principal, body: NewGroup) -> Group:
    """Make a group.

    Its `id` is a machine's: `POST /sessions` with it as `machine_id` starts a conversation.
    """
    return await core.groups.create(who, body)


@routes.get("/groups")
async def list_groups(core: Core, who: Principal, query: Paging) -> Page[Group]:
    """List groups with their persons."""
    return await core.groups.records.page(who, query)


@routes.get("/groups/{group_id}")
async def get_group(core: Core, who: Principal, group_id: str) -> Group:
    """Show a group."""
    return await core.groups.records.get(who, group_id)


@routes.patch("/groups/{group_id}")
async def change_group(core: Core, who: Principal, group_id: str, body: GroupPatch) -> Group:
    """Rename a group, or say anew who is in it.

    Whoever is not in it any more has its sessions closed.
    """
    return await core.groups.change(who, group_id, body)


@routes.delete("/groups/{group_id}")
async def remove_group(core: Core, who: Principal, group_id: str) -> None:
    """Remove a group.

    Its conversations are closed; their logs stay readable. Its persons stay.
    """
    await core.groups.remove(who, group_id)
