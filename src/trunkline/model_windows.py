"""How much models read at once, in tokens, by name: a table that comes with us, an operator's own
over it. For both planes; pure but for reading the files.
"""

import fnmatch
import functools
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from trunkline import tables

WINDOW_MIN: Final = 512
WINDOW_MAX: Final = 10_000_000
_MODELS_MAX = 1_000
_NAME_CHARS = 200
_BUILT_IN = Path(__file__).with_name("model_windows.json")

_Pattern = Annotated[str, Meta(min_length=1, max_length=_NAME_CHARS)]
_Tokens = Annotated[int, Meta(ge=WINDOW_MIN, le=WINDOW_MAX)]


class ModelWindows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens by patterns as those of file names, in lower case; the first that fits counts."""

    models: Annotated[dict[_Pattern, _Tokens], Meta(max_length=_MODELS_MAX)] = {}

    def of(self, model: str) -> int | None:
        """By the model's name without what stands before its last slash, else by all of it."""
        whole = model[:_NAME_CHARS].lower()
        names = (whole.rpartition("/")[2], whole)
        for pattern, window in self.models.items():
            if any(fnmatch.fnmatchcase(name, pattern.lower()) for name in names):
                return window
        return None


@functools.cache
def built_in() -> ModelWindows:
    return msgspec.json.decode(_BUILT_IN.read_bytes(), type=ModelWindows)


def over_built_in(own: ModelWindows) -> ModelWindows:
    """An operator's own come first, ours where none of those fits."""
    ours = {name: one for name, one in built_in().models.items() if name not in own.models}
    return ModelWindows(models={**own.models, **ours})


def read(path: Path) -> ModelWindows:
    """An operator's own table. Raises ValueError that says what is wrong with it."""
    return tables.read(path, ModelWindows)


def told(value: Any) -> ModelWindows:
    """As a control plane has sent it with `init`; ours where that is nothing, or no table."""
    if value is None:
        return built_in()
    try:
        return over_built_in(msgspec.convert(value, ModelWindows))
    except msgspec.ValidationError:
        return built_in()
