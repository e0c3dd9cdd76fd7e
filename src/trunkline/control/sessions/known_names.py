"""Names that a new session chooses, against what its machine says that it knows: a slip is refused
before anything is made. A machine that says nothing is asked nothing. Pure.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from trunkline import names, prices
from trunkline.control.errors import InvalidRequest
from trunkline.control.machines.runtimes import Runtime
from trunkline.control.sessions.starting import AGENT_FIELDS

# As `execution/llm/routes.py` finds who serves a model.
_BUILT_IN: Final = ("demo", "local")


def unknown_setting(runtime: Runtime, chosen: Iterable[str]) -> InvalidRequest | None:
    """The first of the names that the runtime does not read."""
    if runtime.settings is None:
        return None
    known = {*runtime.settings, *AGENT_FIELDS}
    problem = names.unknown_of("setting", sorted(chosen), known)
    return None if problem is None else InvalidRequest(problem, code="UNKNOWN_FIELD")


def unknown_model(
    runtime: Runtime,
    model: Any,
    providers: Collection[str],
    *,
    has_base_url: bool,
    fallback: str | None = None,
) -> InvalidRequest | None:
    """A model that nobody serves there. `providers`: those that its user has stored here, which
    the machine may not have heard of yet; `has_base_url`: OpenAI's among them names a server;
    `fallback`: the model that answers where the named one has no key."""
    said = runtime.models
    if said is None or not isinstance(model, str) or not model.strip():
        return None
    name = model.strip()
    provider, _, rest = name.partition("/")
    there = {*said.providers, *providers}
    if said.any or has_base_url or provider in _BUILT_IN or (rest and provider in there):
        return None
    if serving := names.model_provider(name):
        if serving in there:
            return None
        is_answered = fallback and fallback != name
        if is_answered and not unknown_model(runtime, fallback, providers, has_base_url=False):
            return None
        return _no_key(serving, there)
    told = names.unknown("model", name, (*prices.built_in().models, *_BUILT_IN))
    return InvalidRequest(
        f"{told}{'' if told.endswith('?') else '.'} {_with_keys(there)} Name a model as"
        " provider/model, or choose demo or local, which need no key.",
        code="MODEL_NOT_FOUND",
    )


def doubted_model(model: Any) -> str | None:
    """Whose list says whether there is such a model. None: it is known, or not of a provider that
    lists its own."""
    if not isinstance(model, str):
        return None
    provider, name = _parts(model)
    is_doubted = names.model_provider(name) and prices.built_in().of(name) is None
    return provider if is_doubted else None


def _parts(model: str) -> tuple[str, str]:
    named, _, rest = model.strip().partition("/")
    return (named, rest) if rest else (names.model_provider(named) or "openai", named)


def unlisted_model(model: Any, listed: Mapping[str, Collection[str]]) -> InvalidRequest | None:
    """A model that looks like a provider's, and that the provider itself does not name. `listed`:
    by provider, what it has said to this user's key a short while ago."""
    there = listed.get(doubted_model(model) or "")
    if there is None:
        return None
    provider, name = _parts(model)
    # A list has snapshots, and not always the name that stands for the newest of them.
    plain = name.removesuffix("-latest")
    if any(one == name or one.startswith(f"{plain}-") for one in there):
        return None
    told = names.unknown("model", name, there)
    return InvalidRequest(
        f"{told}{'' if told.endswith('?') else '.'} {provider} does not list it for your key.",
        code="MODEL_NOT_FOUND",
    )


def _no_key(provider: str, there: Collection[str]) -> InvalidRequest:
    return InvalidRequest(
        f"there is no API key for {provider}. {_with_keys(there)} The models demo and local need"
        " no key.",
        code="MODEL_KEY_MISSING",
    )


def _with_keys(providers: Collection[str]) -> str:
    store = "`trunkline user set-key PROVIDER` stores one (--base-url: of a compatible server)"
    if not providers:
        return f"No provider has a key here: {store}."
    several = len(providers) > 1
    listed = ", ".join(sorted(providers))
    return f"{listed} {'have' if several else 'has'} a key here; {store}."
