"""A document's examples as files, read as data: never written by our own code.

Where a document has a table and no example, or an ellipsis, the file holds one value of that kind.
"""

import json
from pathlib import Path
from typing import Any


class Golden:
    """The examples of one wire, in a folder for each direction."""

    def __init__(self, wire: str) -> None:
        self._folder = Path(__file__).parent / wire / "golden"

    def text(self, direction: str, name: str) -> str:
        return (self._folder / direction / f"{name}.json").read_text()

    def load(self, direction: str, name: str) -> Any:
        return json.loads(self.text(direction, name))

    def names(self, direction: str) -> list[str]:
        return sorted(path.stem for path in (self._folder / direction).glob("*.json"))
