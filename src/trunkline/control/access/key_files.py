"""Where the system's keys are kept: a folder with a file for each, or one file with all of them.

One file is what a secret of a cluster, or a credential of a service, is mounted as. It is text:
blocks in the form of PEM, of which ours are named. Both are for this user alone.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path

from trunkline.control.errors import Unavailable
from trunkline.private_files import write_private

NAMES = ("signing.pem", "sealing.key", "vapid.pem")
_FILE_SUFFIX = ".pem"
_BYTES_MAX = 64 * 1024
_LABELS = {f"TRUNKLINE {name.partition('.')[0].upper()} KEY": name for name in NAMES}
_BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END \1-----")


def is_one_file(place: Path) -> bool:
    """A file that is there, or is to be made: one whose name says so."""
    return place.is_file() or (not place.exists() and place.suffix == _FILE_SUFFIX)


def read(place: Path) -> dict[str, bytes]:
    """The keys that are there, by their names. Unavailable for a file that holds something else."""
    if not is_one_file(place):
        return {name: (place / name).read_bytes() for name in NAMES if (place / name).exists()}
    if not place.exists():
        return {}
    found: dict[str, bytes] = {}
    try:
        with place.open("rb") as file:
            text = file.read(_BYTES_MAX + 1).decode("ascii")
        # What is not understood may be a damaged key, which would be taken for one that is missing.
        if len(text) > _BYTES_MAX or _BLOCK.sub("", text).strip():
            raise Unavailable(f"{place} has something else than whole blocks of keys")
        for label, content in _BLOCK.findall(text):
            if label not in _LABELS or _LABELS[label] in found:
                raise Unavailable(f"{place} has an unknown or a second block {label!r}")
            found[_LABELS[label]] = base64.b64decode(content)
    except (UnicodeDecodeError, binascii.Error) as error:
        raise Unavailable(f"{place} is no file of keys: {error}") from error
    if not found and place.stat().st_size:
        names = ", ".join(_LABELS)
        raise Unavailable(f"{place} is no file of keys: it has no block of {names}")
    return found


def write(place: Path, keys: Mapping[str, bytes]) -> None:
    """Adds these; what is there stays."""
    if not is_one_file(place):
        for name in sorted(keys):
            write_private(place / name, keys[name])
        return
    every = {**keys, **read(place)}
    blocks = [_block(label, every[name]) for label, name in _LABELS.items() if name in every]
    write_private(place, "".join(blocks))


def _block(label: str, content: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(content).decode()}-----END {label}-----\n"
