"""Calls that a person has allowed for the session, as a program's driver remembers them: by digest,
for what they were given may be large, or secret."""

import hashlib
from typing import Any

import msgspec

from trunkline.execution.json_object import Json

CALLS_MAX = 500


class AllowedCalls:
    """The same call asks nobody again. `saved`: as it was told before, by whoever."""

    def __init__(self, saved: Any = None) -> None:
        listed = saved if isinstance(saved, list) else []
        self._digests = [one for one in listed if isinstance(one, str)][-CALLS_MAX:]

    def __contains__(self, call: tuple[str, Json]) -> bool:
        return digest(*call) in self._digests

    def add(self, tool: str, given: Json) -> None:
        self._digests = [*self._digests, digest(tool, given)][-CALLS_MAX:]

    def saved(self) -> list[str]:
        return list(self._digests)


def digest(tool: str, given: Json) -> str:
    text = msgspec.json.encode([tool, given], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]
