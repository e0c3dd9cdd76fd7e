"""Routes of quotas: how much is used of what a person may have, and who may have more."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.quotas import OrgQuota, Owner, Quota, QuotaPatch
from trunkline.control.records.fields import Id

quotas = Routes("quotas")


class QuotaQuery(msgspec.Struct, kw_only=True):
    user_id: (
        Annotated[Id, Meta(description="Whose; yours without it. For those who may see them.")]
        | None
    ) = None


class QuotaList(msgspec.Struct, kw_only=True):
    items: list[Quota]


class OrgQuotaList(msgspec.Struct, kw_only=True):
    items: list[OrgQuota]


@quotas.get("/quotas")
async def list_quotas(core: Core, who: Principal, query: QuotaQuery) -> QuotaList:
    """Show how much you have of what you may have.

    Stored bytes are counted once a minute. At a quota, `QUOTA_REACHED` says what can be done.
    """
    user = await core.records.users.get(who, query.user_id or who.user_id)
    return QuotaList(items=await core.quotas.usage(Owner(user.org_id, user.id)))


@quotas.get("/orgs/{org_id}/quotas")
async def list_org_quotas(core: Core, who: Principal, org_id: str) -> OrgQuotaList:
    """Show how much each user of an organisation may have, and the organisation itself."""
    org = await core.records.orgs.get(who, org_id)
    return OrgQuotaList(items=await core.quotas.of_org(org.id))


@quotas.patch("/orgs/{org_id}/quotas", audit="org.quotas_changed")
async def change_org_quotas(
    core: Core, who: Principal, org_id: str, body: QuotaPatch
) -> OrgQuotaList:
    """Change how much each user of an organisation may have, and the organisation itself.

    Only admins may.
    """
    org = await core.records.orgs.get(who, org_id)
    return OrgQuotaList(items=await core.quotas.change_org(who, org.id, body))


@quotas.patch("/users/{user_id}/quotas", audit="user.quotas_changed")
async def change_user_quotas(
    core: Core, who: Principal, user_id: str, body: QuotaPatch
) -> QuotaList:
    """Change how much one user may have.

    Admins may, and their org's admins up to what the organisation gives to each.
    """
    user = await core.records.users.get_managed(who, user_id)
    owner = Owner(user.org_id, user.id)
    return QuotaList(items=await core.quotas.change_user(who, owner, body))
