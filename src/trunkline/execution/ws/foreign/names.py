"""What a foreign server calls a session, and what its folder is called here.

Ids come from outside and become names of folders: a plain one stays as it is, any other is written
in letters that a folder may have, so that nothing must be remembered to read it again. Only a
conversation that goes on in a session of another name is noted in a file.
"""

import base64
import binascii
from pathlib import Path

from trunkline.execution.files import load_json, save_json
from trunkline.execution.home import is_session_id

WIRE_BOUND_NAMES_MAX = 10_000  # conversations that go on in a session of another name

_CODED = "x-"
_CHARS_MAX = 100


class Names:
    """Both ways. Made once; the file is read then."""

    def __init__(self, path: Path, bound_max: int = WIRE_BOUND_NAMES_MAX) -> None:
        self._path = path
        self._bound_max = bound_max
        self._local = load_json(path, dict[str, str], "names of conversations") or {}
        """Conversations that were bound, to the session in which they go on."""
        self._foreign = {local: foreign for foreign, local in self._local.items()}

    def local(self, foreign: str) -> str:
        """Raises ValueError for an id that no folder can be named after."""
        bound = self._local.get(foreign)
        return bound if bound is not None else coded(foreign)

    def foreign(self, local: str) -> str:
        """What the server knows it by; the newest name, where there were several."""
        bound = self._foreign.get(local)
        return bound if bound is not None else decoded(local)

    def bind(self, foreign: str, local: str) -> None:
        """The conversation goes on in that session from now on."""
        self._local.pop(foreign, None)
        self._local[foreign] = local
        while len(self._local) > self._bound_max:
            del self._local[next(iter(self._local))]
        self._changed()

    def forget(self, foreign: str) -> None:
        if self._local.pop(foreign, None) is not None:
            self._changed()

    def _changed(self) -> None:
        self._foreign = {local: foreign for foreign, local in self._local.items()}
        save_json(self._path, self._local, "names of conversations")


def coded(foreign: str) -> str:
    """Raises ValueError for an id that no folder can be named after."""
    if is_session_id(foreign) and not foreign.startswith(_CODED):
        return foreign
    raw = foreign.encode("utf-8", "surrogatepass")
    name = _CODED + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    if not foreign or len(name) > _CHARS_MAX:
        raise ValueError(f"not usable as a session's id: {foreign[:100]!r}")
    return name


def decoded(local: str) -> str:
    """A folder that somebody else named is called what it is called."""
    if not local.startswith(_CODED):
        return local
    text = local.removeprefix(_CODED)
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        foreign = raw.decode("utf-8", "surrogatepass")
        return foreign if coded(foreign) == local else local
    except (binascii.Error, ValueError):
        return local
