"""Names that a new session chooses, against what its machine says that it knows: a slip is refused
before anything is made. A machine that says nothing is asked nothing. Pure.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from trunkline import names, prices
from trunkline.control.errors import InvalidRequest
from trunkline.control.machines.runtimes import Runtime
from trunkline.control.sessions.starting import AGENT_FIELDS

# As `execution/llm/routes.py` finds who serves a model.
_BUILT_IN: Final = ("demo", "local")
_ALWAYS: Final = ("openai", "anthropic")
_BY_NAME = re.compile(r"(?:gpt-|chatgpt-|codex-|o\d|claude)", re.IGNORECASE)


def unknown_setting(runtime: Runtime, chosen: Iterable[str]) -> InvalidRequest | None:
    """The first of the names that the runtime does not read."""
    if runtime.settings is None:
        return None
    known = {*runtime.settings, *AGENT_FIELDS}
    problem = names.unknown_of("setting", sorted(chosen), known)
    return None if problem is None else InvalidRequest(problem, code="UNKNOWN_FIELD")


def unknown_model(
    runtime: Runtime, model: Any, providers: Collection[str], *, has_base_url: bool
) -> InvalidRequest | None:
    """A model that nobody serves there. `providers`: those that its user has stored here, which
    the machine may not have heard of yet; `has_base_url`: OpenAI's among them names a server."""
    said = runtime.models
    if said is None or not isinstance(model, str) or not model.strip():
        return None
    name = model.strip()
    provider, _, rest = name.partition("/")
    if said.any or has_base_url or _BY_NAME.match(name) or provider in _BUILT_IN:
        return None
    there = {*said.providers, *providers}
    if rest and provider in (*there, *_ALWAYS):
        return None
    told = names.unknown("model", name, (*prices.built_in().models, *_BUILT_IN))
    set_up = ", ".join(sorted(there)) or "none"
    return InvalidRequest(
        f"{told}; nobody serves it: name one as provider/model, or set a base URL "
        f"(providers that are set up: {set_up})",
        code="MODEL_NOT_FOUND",
    )
