"""What can run a session here, for help and completion: what the machines of the running server
say that they have, which the server leaves in its data folder. Nothing is asked for it.
"""

import json
import os
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer

from trunkline import names

_RUNTIMES: Final = "{runtimes}"
_PROGRAMS: Final = "{programs}"
_PROGRAM_OF: Final = "acp:"


def usable() -> list[str]:
    """Runtimes, and programs of the runtime acp as `acp:NAME`; empty where nobody says it."""
    from trunkline.places import SERVER_FILE, data_folder

    try:
        folder = data_folder(os.environ.get("TRUNKLINE_DATA", ""))
        said = json.loads((folder / SERVER_FILE).read_bytes()).get("runtimes")
    except (OSError, ValueError, AttributeError):
        return []
    known = [*names.RUNTIMES, *(_PROGRAM_OF + one for one in names.ACP_PRESETS)]
    return [one for one in said if one in known] if isinstance(said, list) else []


def fill(params: Iterable[Any]) -> None:
    """Puts them into the help of options that leave a place for them."""
    for param in params:
        text = getattr(param, "help", None) or ""
        if _RUNTIMES in text or _PROGRAMS in text:
            param.help = text.replace(_RUNTIMES, _listed(_runtimes(usable()))).replace(
                _PROGRAMS, _listed(_programs(usable()))
            )


def _listed(found: list[str]) -> str:
    return f": {', '.join(found)}" if found else ""


def _runtimes(found: list[str]) -> list[str]:
    return [one for one in found if not one.startswith(_PROGRAM_OF)]


def _programs(found: list[str]) -> list[str]:
    return [one.removeprefix(_PROGRAM_OF) for one in found if one.startswith(_PROGRAM_OF)]


def _known(value: str | None) -> str | None:
    """A runtime that is not here yet can be named; one that there is not, cannot."""
    if value is not None and value not in names.RUNTIMES:
        here = _runtimes(usable()) or names.RUNTIMES
        raise typer.BadParameter(names.not_one_of(value, here, names.RUNTIMES))
    return value


def _completed(incomplete: str) -> list[str]:
    return [one for one in _runtimes(usable()) if one.startswith(incomplete)]


def runtime_option(text: str) -> Any:
    """`--runtime`; a `{runtimes}` in the text is what can run here."""
    return typer.Option("--runtime", help=text, callback=_known, autocompletion=_completed)


Runtime = Annotated[str | None, runtime_option("What runs it{runtimes}. [the agent's]")]
Acp = Annotated[
    str | None,
    typer.Option(
        help="The program of the runtime acp{programs}; or a command.",
        autocompletion=lambda incomplete: [
            one for one in _programs(usable()) if one.startswith(incomplete)
        ],
    ),
]
