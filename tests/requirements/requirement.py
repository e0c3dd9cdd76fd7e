"""One promise of a source document. Its id says where it stands: `000-4.1-heartbeat-fields`."""

import re

import msgspec

ID = re.compile(
    r"(?P<document>\d{3}|notes)-(?P<section>\d+(?:\.\d+)*)-(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)"
)

DOCUMENTS = {
    "000": "Semibot: the WebSocket protocol",
    "002": "Yeaft: the WebSocket protocol",
    "003": "AGP: devices",
    "001": "MyAgent: the WebSocket protocol",
    "004": "Semibot: the execution plane",
    "notes": "Field notes: what clients and machines of these protocols do beyond the documents",
}
"""Every document that the manifest covers, by its number."""

OPENCLAW = "the OpenClaw runtime is not part of this version yet"
"""The reason of what only the second runtime can show."""


class Requirement(msgspec.Struct, frozen=True):
    """`behaviour` is one sentence; `reason` says why no test proves it, where none does."""

    id: str
    behaviour: str
    reason: str | None = None

    @property
    def document(self) -> str:
        return self._part("document")

    @property
    def section(self) -> str:
        return self._part("section")

    def _part(self, name: str) -> str:
        match = ID.fullmatch(self.id)
        assert match is not None, f"{self.id!r} is not <document>-<section>-<name>"
        return match[name]
