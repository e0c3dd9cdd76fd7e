"""Routes of models: which are used where nobody names one, what they cost, whose keys there are."""

from typing import Literal

import msgspec

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.machines.machine import Machine
from trunkline.control.records.credentials import CredentialTest, check_provider
from trunkline.control.services.model_lists import ModelList
from trunkline.prices import Price

models = Routes("models")

_BUILT_IN = ("demo", "local")
_OWN_RUNTIME = "semigraph"


ChosenBy = Literal["user", "setting", "keys", "nobody"]


class ModelInUse(msgspec.Struct, kw_only=True):
    """The model of a session that names none. `is_built_in`: it needs no key, and is there to try
    things. `chosen_by`: the user, the setting `default_model`, the `keys` that the machine has, or
    nobody."""

    name: str
    is_built_in: bool
    chosen_by: ChosenBy


class KnownProvider(msgspec.Struct, kw_only=True):
    """A provider that there is a key or an address for. `source`: `stored` by its user, or in the
    `server`'s environment, where nobody can remove it here."""

    provider: str
    base_url: str | None
    default_model: str | None
    source: Literal["stored", "server"]
    created_at: int | None


class ModelPrice(Price, frozen=True, kw_only=True):
    """Of a million tokens, in `currency`."""

    name: str


class ModelOverview(msgspec.Struct, kw_only=True):
    """What the person's own sessions can use. `default`: null before a machine of theirs has said
    it. `fallback`: asked where the first one fails. `prices`: those that are known."""

    default: ModelInUse | None
    fallback: str | None
    providers: list[KnownProvider]
    currency: str
    prices: list[ModelPrice]


@models.get("/models")
async def get_models(core: Core, who: Principal) -> ModelOverview:
    """Show which model your sessions use, whose keys there are and what models cost."""
    table = core.services.prices
    return ModelOverview(
        default=await model_in_use(core, who),
        fallback=core.settings.fallback_model,
        providers=await providers_of(core, who.user_id),
        currency=table.currency,
        prices=[
            ModelPrice(name=name, **msgspec.structs.asdict(price))
            for name, price in sorted(table.models.items())
        ],
    )


@models.post("/users/{user_id}/credentials/{provider}/test", audit="credential.tested")
async def try_credential(
    core: Core, who: Principal, user_id: str, provider: str, body: CredentialTest = CredentialTest()
) -> ModelList:
    """Try a key or a server's address, and list the models there.

    This server asks, not the machine that will use it. Addresses that are not public are tried for
    administrators only. Nothing is stored.
    """
    user = await core.records.users.get_managed(who, user_id)
    check_provider(provider)
    keys = await core.records.credentials.reveal(user.id)
    return await core.services.model_lists.ask(
        user.id,
        provider,
        next((key for key in keys if key.provider == provider), None),
        api_key=body.api_key,
        base_url=body.base_url,
        is_admin=who.is_admin,
    )


async def model_in_use(core: Core, who: Principal) -> ModelInUse | None:
    """What was chosen, else what the machine says that a new session of theirs would get."""
    own = await core.records.credentials.default_model(who.user_id)
    set_here = core.settings.default_model
    name = own or set_here or next(filter(None, map(_said, _theirs(core, who))), None)
    if name is None:
        return None
    is_built_in = name.partition("/")[0] in _BUILT_IN
    by: ChosenBy = "nobody" if is_built_in else "keys"
    by = "user" if own else "setting" if set_here else by
    return ModelInUse(name=name, is_built_in=is_built_in, chosen_by=by)


async def providers_of(core: Core, user_id: str) -> list[KnownProvider]:
    """Stored ones, and those of the server's environment that they do not stand over."""
    stored = await core.records.credentials.every(user_id)
    found = [
        KnownProvider(
            provider=one.provider,
            base_url=one.base_url,
            default_model=one.default_model,
            source="stored",
            created_at=one.created_at,
        )
        for one in stored
    ]
    own = {one.provider for one in stored}
    found += [
        KnownProvider(
            provider=one.provider,
            base_url=one.base_url,
            default_model=None,
            source="server",
            created_at=None,
        )
        for one in core.records.credentials.lent_to(user_id)
        if one.provider not in own
    ]
    return sorted(found, key=lambda one: one.provider)


def _theirs(core: Core, who: Principal) -> list[Machine]:
    """The newest first, as new sessions choose among them."""
    online = [one for one in core.machines.online() if one.user_id == who.user_id]
    return sorted(online, key=lambda one: (not one.is_draining, one.id), reverse=True)


def _said(machine: Machine) -> str | None:
    runtime = (machine.runtimes or {}).get(_OWN_RUNTIME)
    return runtime.models.default if runtime is not None and runtime.models is not None else None
