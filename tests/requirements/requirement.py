"""One requirement of a source document. Its id says where it comes from:
`000-4.1-heartbeat-fields`; its page says where our own documents state it."""

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

"""The reason of what only the second runtime can show."""


class Requirement(msgspec.Struct, frozen=True):
    """What is required, and where that is stated.

    `behaviour` is one sentence. `page` is the page and heading under `docs/protocols/` that states
    it. `divergence` says how the behaviour differs from the source document, and why. `reason` says
    why no test proves it, where none does.
    """

    id: str
    behaviour: str
    page: str
    divergence: str | None = None
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
