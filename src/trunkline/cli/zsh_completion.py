"""What `--install-completion` gives to zsh: typer's script, which only defines the function when
zsh first asks for it, so that the first Tab of each shell would complete nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

_ASKED_FIRST = """
[[ $zsh_eval_context[-1] == loadautofunc ]] && _trunkline_completion "$@"
"""

Installing = Callable[[Any, Any, Any], Any]
"""The callback of that option."""


def mending(installing: Installing) -> Installing:
    """The same, which mends what it has installed."""

    def install(context: Any, parameter: Any, value: Any) -> Any:
        try:
            return installing(context, parameter, value)
        except SystemExit:  # so it ends
            _mend(Path.home() / ".zfunc" / "_trunkline")
            raise

    return install


def _mend(script: Path) -> None:
    if script.is_file() and _ASKED_FIRST not in (text := script.read_text(encoding="utf-8")):
        script.write_text(text.rstrip("\n") + "\n" + _ASKED_FIRST, encoding="utf-8")
