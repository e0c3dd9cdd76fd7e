"""Tables of models in JSON files: those that come with us, and an operator's own over them.

For both planes, by `prices` and `model_windows`. Pure but for reading a bounded file.
"""

from pathlib import Path
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

BYTES_MAX: Final = 256 * 1024


def read(path: Path, kind: type[T]) -> T:
    """Raises ValueError that names the file and what is wrong with it."""
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if len(raw) > BYTES_MAX:
        raise ValueError(f"{path} has more than {BYTES_MAX} bytes")
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
