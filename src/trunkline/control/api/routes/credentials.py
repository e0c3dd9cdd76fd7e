"""Routes of a user's keys for model providers. No answer ever holds a key."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.credentials import Credential, NewCredential
from trunkline.control.records.page import Page, Paging

routes = Routes("credentials")


@routes.put("/users/{user_id}/credentials/{provider}")
async def put_credential(
    core: Core, who: Principal, user_id: str, provider: str, body: NewCredential
) -> Credential:
    """Store a provider's API key for a user.

    It is kept encrypted and goes to that user's machines when they connect.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.records.credentials.put(user.id, provider, body)


@routes.get("/users/{user_id}/credentials")
async def list_credentials(
    core: Core, who: Principal, user_id: str, query: Paging
) -> Page[Credential]:
    """List the providers for which a user has a key."""
    user = await core.records.users.get(who, user_id)
    return await core.records.credentials.page(user.id, query)


@routes.get("/users/{user_id}/credentials/{provider}")
async def get_credential(core: Core, who: Principal, user_id: str, provider: str) -> Credential:
    """Show whether a user has a key for a provider."""
    user = await core.records.users.get(who, user_id)
    return await core.records.credentials.get(user.id, provider)


@routes.delete("/users/{user_id}/credentials/{provider}")
async def remove_credential(core: Core, who: Principal, user_id: str, provider: str) -> None:
    """Remove a provider's key."""
    user = await core.records.users.get_managed(who, user_id)
    await core.records.credentials.remove(user.id, provider)
