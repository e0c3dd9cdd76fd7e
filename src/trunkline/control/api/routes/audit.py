"""Routes of the audit log."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.audit import AuditEntry, Verification

routes = Routes("audit")


@routes.get("/audit")
async def list_audit(core: Core, who: Principal, query: Paging) -> Page[AuditEntry]:
    """Read the audit log, newest first: what you did; for org admins, what their org did."""
    return await core.services.audit.page(who, query)


@routes.get("/audit/verify")
async def verify_audit(core: Core, who: Principal) -> Verification:
    """Check the whole chain and name the first broken link.

    It reads every entry, so it is for administrators.
    """
    who.require_org_admin()
    return await core.services.audit.verify()
