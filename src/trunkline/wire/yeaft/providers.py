"""Names of providers on the Yeaft wire, and the runtimes of our machines that they mean
(docs/protocols/yeaft.md#providers). Pure; both planes use it.
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

DEFAULT_PROVIDER: Final = "claude-code"
KNOWN_TO_PAGES: Final = (DEFAULT_PROVIDER, "copilot")
_ACP = "acp"
_PRESETS = ("copilot", "opencode", "gemini", "codex", "goose")
"""Programs that the ACP runtime knows by name."""


class Choice(NamedTuple):
    """What a provider's name chooses: a runtime, and what that needs in `agent_config`."""

    runtime_type: str
    agent_config: Json


def choice_of(provider: Any, runtimes: Any, details: Any = None) -> Choice | None:
    """What a name means on a machine with these runtimes, as its health tells them (`runtimes`,
    `runtime_details`). None: it means nothing there. Pages always name one, so it is no demand."""
    if not isinstance(provider, str) or not isinstance(runtimes, list):
        return None
    if provider in runtimes:
        return Choice(provider, {})
    if provider in _PRESETS and _ACP in runtimes and _has_preset(provider, details):
        return Choice(_ACP, {"acp": {"preset": provider}})
    return None


def _has_preset(name: str, details: Any) -> bool:
    """Of a machine that does not say which ones it has, it is found out."""
    about = details.get(_ACP) if isinstance(details, dict) else None
    presets = about.get("presets") if isinstance(about, dict) else None
    if isinstance(presets, dict):
        of_it = presets.get(name)
        return of_it.get("usable") is not False if isinstance(of_it, dict) else bool(of_it)
    return name in presets if isinstance(presets, list) else True


def name_of(runtime_type: str, agent_config: Json) -> str | None:
    """The provider that a runtime is called by; None for one that has no such name."""
    if runtime_type != _ACP:
        return runtime_type if runtime_type == DEFAULT_PROVIDER else None
    acp = agent_config.get("acp")
    preset = acp.get("preset") if isinstance(acp, dict) else None
    return preset if preset in _PRESETS else None


def offered(runtimes: Collection[str], details: Any = None) -> list[str]:
    """The providers that a machine with these runtimes can be asked for."""
    names = (*_PRESETS, *sorted(runtimes))
    listed = sorted(runtimes)
    return [one for one in names if one != _ACP and choice_of(one, listed, details) is not None]


def shown_to_pages(name: Any) -> str:
    """The name under which deployed pages know who runs a conversation. Any other breaks their
    list for good, so no other is ever given to one."""
    return name if name in KNOWN_TO_PAGES else DEFAULT_PROVIDER
