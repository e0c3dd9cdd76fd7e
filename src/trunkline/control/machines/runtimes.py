"""Which runtimes a machine has, by what it says of itself, and what may be asked of it.

Pure. A machine says it in its heartbeats; what it says is checked and bounded here, once.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from trunkline import names
from trunkline.control.errors import Conflict, InvalidRequest, TrunklineError
from trunkline.control.machines.traits import Traits

Json = dict[str, Any]

CODE: Final = "RUNTIME_UNSUPPORTED"
ACP: Final = "acp"

_RUNTIMES_MAX = 20
_NAME_CHARS_MAX = 40
_NAMES_MAX = 100
_TEXT_CHARS_MAX = 500
_LEVELS = 2  # runtimes, and the programs of one that has several


class Models(msgspec.Struct, frozen=True):
    """Whose models can be asked there. `any`: a server of models takes every name."""

    providers: list[str]
    any: bool = False
    default: str | None = None
    """What a session gets that names none, where the machine says so."""


class Runtime(msgspec.Struct, frozen=True):
    """One that a machine has, or lacks for a reason."""

    usable: bool
    version: str | None = None
    reason: str | None = None
    """Why it is not usable."""
    install: str | None = None
    """The command that helps, on the machine."""
    presets: dict[str, "Runtime"] | None = None
    settings: list[str] | None = None
    """The names that it reads of a session's configuration, where it says them all."""
    models: Models | None = None


Runtimes = dict[str, Runtime] | None
"""By name. Empty: the machine says nothing of them. None: it has not been heard."""


def runtimes_of(health: Mapping[str, object] | None) -> dict[str, Runtime]:
    """What a heartbeat says."""
    said = (health or {}).get("runtimes")
    if not isinstance(said, list):
        return {}
    usable = {one for one in said[:_RUNTIMES_MAX] if isinstance(one, str)}
    details = (health or {}).get("runtime_details")
    found = _many(details, _LEVELS) or {}
    for name in usable:
        if len(name) <= _NAME_CHARS_MAX:
            known = found.get(name, Runtime(True))
            found[name] = msgspec.structs.replace(known, usable=True)
    # The list is what counts; the details are for people.
    return {
        name: one if name in usable else msgspec.structs.replace(one, usable=False)
        for name, one in found.items()
    }


def usable(runtimes: Runtimes) -> list[str]:
    """Their names; programs of one that has several as `acp:opencode`."""
    found = []
    for name, one in (runtimes or {}).items():
        if one.usable:
            programs = (one.presets or {}).items()
            found += [name, *(f"{name}:{preset}" for preset, each in programs if each.usable)]
    return found


def _many(said: object, levels: int) -> dict[str, Runtime] | None:
    if not isinstance(said, dict) or not levels:
        return None
    entries = list(said.items())[:_RUNTIMES_MAX]
    return {
        name: _one(details, levels)
        for name, details in entries
        if isinstance(name, str) and len(name) <= _NAME_CHARS_MAX and isinstance(details, dict)
    }


def _one(said: Json, levels: int) -> Runtime:
    return Runtime(
        said.get("usable") is True,
        version=_text(said.get("version")),
        reason=_text(said.get("reason")),
        install=_text(said.get("install")),
        presets=_many(said.get("presets"), levels - 1),
        settings=_names(said.get("settings")),
        models=_models(said.get("models")),
    )


def _models(said: object) -> Models | None:
    if not isinstance(said, dict) or (providers := _names(said.get("providers"))) is None:
        return None
    return Models(providers, said.get("any") is True, _text(said.get("default")))


def _names(said: object) -> list[str] | None:
    if not isinstance(said, list):
        return None
    return [
        one for one in said[:_NAMES_MAX] if isinstance(one, str) and len(one) <= _NAME_CHARS_MAX
    ]


def _text(value: object) -> str | None:
    return value[:_TEXT_CHARS_MAX] if isinstance(value, str) and value else None


def stored(value: Any) -> Runtimes:
    """As the record of a machine has it."""
    return None if value is None else msgspec.convert(value, dict[str, Runtime])


def problem(
    runtime: str, config: Json, has: Runtimes, traits: Traits, machine: str
) -> TrunklineError | None:
    """Why a session with that runtime cannot run there, with what is there instead; None: it can,
    or nobody here knows better. `machine`: how people call it."""
    if traits.names_runtimes:
        return None
    if not traits.starts or has is None:
        return None if runtime in names.RUNTIMES else _unknown(runtime, names.RUNTIMES)
    usable = [name for name, one in has.items() if one.usable] or names.DOCUMENTED_RUNTIMES
    if runtime in usable:
        return _problem_of_acp(config, has, machine) if runtime == ACP else None
    if runtime not in names.RUNTIMES:
        return _unknown(runtime, sorted(usable))
    return Conflict(
        f"the machine {machine!r} has no runtime {runtime!r}{_why(has.get(runtime))};"
        f" it has: {', '.join(sorted(usable))}",
        code=CODE,
    )


def _unknown(runtime: str, known: list[str] | tuple[str, ...]) -> TrunklineError:
    told = f"{names.unknown('runtime', runtime, known)} (there are: {', '.join(known)})"
    return InvalidRequest(told, code=CODE)


def _problem_of_acp(config: Json, has: dict[str, Runtime], machine: str) -> TrunklineError | None:
    chosen = config.get(ACP)
    if not isinstance(chosen, dict):
        return InvalidRequest(
            'the runtime acp needs a program: {"acp": {"preset": NAME}} with one of'
            f' {", ".join(names.ACP_PRESETS)}, or {{"acp": {{"command": [PROGRAM, …]}}}}'
        )
    presets, preset = has[ACP].presets, chosen.get("preset")
    known = (presets or {}).get(preset) if isinstance(preset, str) else None
    if known is None or known.usable:
        return None
    there = sorted(name for name, one in (presets or {}).items() if one.usable)
    return Conflict(
        f"the machine {machine!r} has no ACP program {preset!r}{_why(known)};"
        f" it has: {', '.join(there) or 'none'}",
        code=CODE,
    )


def _why(known: Runtime | None) -> str:
    said = "" if known is None or known.reason is None else f": {known.reason}"
    return said + ("" if known is None or known.install is None else f" ({known.install})")
