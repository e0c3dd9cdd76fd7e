"""Routes of organisations."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.orgs import NewOrg, Org, OrgPatch
from trunkline.control.records.page import Page, Paging

routes = Routes("orgs")


@routes.post("/orgs", status=201)
async def create_org(core: Core, who: Principal, body: NewOrg) -> Org:
    """Make an organisation.

    Only admins may.
    """
    return await core.records.orgs.create(who, body)


@routes.get("/orgs")
async def list_orgs(core: Core, who: Principal, query: Paging) -> Page[Org]:
    """List organisations: your own; for admins, all."""
    return await core.records.orgs.page(who, query)


@routes.get("/orgs/{org_id}")
async def get_org(core: Core, who: Principal, org_id: str) -> Org:
    """Show an organisation."""
    return await core.records.orgs.get(who, org_id)


@routes.patch("/orgs/{org_id}")
async def change_org(core: Core, who: Principal, org_id: str, body: OrgPatch) -> Org:
    """Change an organisation.

    Its own admins and admins may.
    """
    return await core.records.orgs.change(who, org_id, body)


@routes.delete("/orgs/{org_id}")
async def remove_org(core: Core, who: Principal, org_id: str) -> None:
    """Remove an organisation with all that belongs to it.

    Its people's tokens end, their machines are given up. Only admins may, and not their own.
    """
    await core.records.orgs.check_removable(who, org_id)
    for machine_id in await core.records.machines.ids_of(org_id=org_id):
        await core.vms.terminate(who, machine_id)
    session_ids = await core.sessions.ids_of(org_id=org_id)
    await core.records.orgs.remove(who, org_id)
    await core.sessions.erase(session_ids)
