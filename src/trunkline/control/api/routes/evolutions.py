"""Routes of evolutions: skills that sessions propose and people decide on."""

from typing import Literal

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.evolutions import Evolution

routes = Routes("evolutions")


class EvolutionQuery(Paging, kw_only=True):
    state: Literal["pending", "approved", "rejected"] | None = None


@routes.get("/evolutions")
async def list_evolutions(core: Core, who: Principal, query: EvolutionQuery) -> Page[Evolution]:
    """List proposed skills, newest first."""
    return await core.services.evolutions.page(who, query, query.state)


@routes.get("/evolutions/{evolution_id}")
async def get_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Show a proposed skill."""
    return await core.services.evolutions.get(who, evolution_id)


@routes.post("/evolutions/{evolution_id}/approve")
async def approve_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Make a proposed skill a skill of the organisation.

    Its admins decide; whoever decides first decides.
    """
    return await core.services.evolutions.approve(who, evolution_id)


@routes.post("/evolutions/{evolution_id}/reject")
async def reject_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Turn a proposed skill down."""
    return await core.services.evolutions.reject(who, evolution_id)
