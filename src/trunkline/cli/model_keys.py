"""A warning for whoever stores a model's name that no key here is for: its sessions are refused."""

from typing import TYPE_CHECKING

from trunkline import names
from trunkline.cli.output import Json

if TYPE_CHECKING:
    from trunkline.client import Client

_OWN_RUNTIME = "semigraph"  # which alone says whose models it can ask


async def keyless(client: "Client", stored: Json) -> str:
    """Empty where there is a key, or nobody can tell."""
    model, runtime = stored.get("model"), stored.get("runtime_type") or _OWN_RUNTIME
    provider = names.model_provider(model) if isinstance(model, str) else None
    if provider is None or runtime != _OWN_RUNTIME:
        return ""
    from trunkline.client import ClientError

    try:
        stored_here = await client.get("models")
        said = [
            models
            async for machine in client.each("machines")
            if (models := ((machine.get("runtimes") or {}).get(_OWN_RUNTIME) or {}).get("models"))
        ]
    except ClientError:  # the record is made by now: a warning that cannot be had is none
        return ""
    if stored_here.get("fallback"):
        return ""
    there = {one["provider"] for one in stored_here["providers"]}
    there.update(one for models in said for one in models["providers"])
    if not said or provider in there or any(models["any"] for models in said):
        return ""
    listed = f"there are keys for {', '.join(sorted(there))}; " if there else ""
    return (
        f"warning: there is no API key for {provider}, so sessions with the model {model} are"
        f" refused: {listed}`trunkline user set-key {provider}` stores one"
    )
