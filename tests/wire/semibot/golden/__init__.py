"""The Semibot document's examples as files, read as data: never written by our own code.

Where the document's example has an ellipsis or a choice, the file holds one value of that kind.
"""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def text(direction: str, name: str) -> str:
    return (_FOLDER / direction / f"{name}.json").read_text()


def load(direction: str, name: str) -> Any:
    return json.loads(text(direction, name))


def names(direction: str) -> list[str]:
    return sorted(path.stem for path in (_FOLDER / direction).glob("*.json"))
