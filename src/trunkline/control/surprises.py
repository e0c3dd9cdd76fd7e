"""What programs of other makes send that is not known here: tolerated, counted, and logged once a
kind, so that an operator sees the next difference between a wire and the programs that speak it."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
import structlog

from trunkline.log_form import one_line
from trunkline.wire.errors import UNREADABLE

HTTP: Final = "http"
"""In the place of a wire: paths that are not served, as `route` (below `/api/`), `path` (elsewhere)
or `socket`. Who asks for them needs no login."""

LOOKED_AT_CHARS_MAX = 64 * 1024
"""A message beyond that is not read a second time to look for names."""

_KINDS_MAX = 200  # of each wire: so many messages, and so many fields
_ROUTES_MAX = 50  # below `/api/`, and elsewhere, and of WebSockets
_NAME_CHARS_MAX = 80

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_log = structlog.get_logger(__name__)


class Surprises:
    """The counts, by wire and kind; `/metrics` shows them."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self._kinds: dict[tuple[str, str], int] = {}
        """How many of each wire and sort are counted: none takes the room of another."""

    def saw(self, wire: str, kind: str) -> None:
        """`kind` says what it is and its name, such as `message subscribe` or `route GET /x`."""
        seen = (wire, one_line(kind)[:_NAME_CHARS_MAX])
        if seen not in self.counts:
            sort = wire, kind.partition(" ")[0]
            kinds = self._kinds.get(sort, 0)
            if kinds < (_ROUTES_MAX if wire == HTTP else _KINDS_MAX):
                self._kinds[sort] = kinds + 1
            else:
                seen = (wire, "other")  # the names are whatever the other side likes
        count = self.counts.get(seen, 0) + 1
        self.counts[seen] = count
        if count == 1:
            _log.info("not known on this wire, and left alone", wire=wire, kind=seen[1])

    def saw_query(self, wire: str, query: Iterable[str], known: AbstractSet[str]) -> None:
        """Those names in the URL of a handshake that are not known."""
        for name in set(query) - known:
            self.saw(wire, f"query field {name}")

    def saw_fields(self, wire: str, text: str | bytes, known: AbstractSet[str]) -> None:
        """Those of an object that are not known. It is read once more: not for what comes often."""
        try:
            names = _fields.decode(text).keys()
        except UNREADABLE:
            return  # what it is worth is not decided here
        for name in names - known:
            self.saw(wire, f"field {name}")
