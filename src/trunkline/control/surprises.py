"""What programs of other makes send that is not known here: tolerated, counted, and logged once a
kind, so that an operator sees the next difference between a wire and the programs that speak it."""

import structlog

from trunkline.log_form import one_line

_KINDS_MAX = 200
_NAME_CHARS_MAX = 80

_log = structlog.get_logger(__name__)


class Surprises:
    """The counts, by wire and kind; `/metrics` shows them."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}

    def saw(self, wire: str, kind: str) -> None:
        """`kind` says what it is and its name, such as `message subscribe` or `route /api/x`."""
        seen = (wire, one_line(kind)[:_NAME_CHARS_MAX])
        if seen not in self.counts and len(self.counts) >= _KINDS_MAX:
            seen = (wire, "other")  # the names are whatever the other side likes
        count = self.counts.get(seen, 0) + 1
        self.counts[seen] = count
        if count == 1:
            _log.info("not known on this wire, and left alone", wire=wire, kind=seen[1])
