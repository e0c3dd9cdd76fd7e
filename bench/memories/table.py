"""The questions, and everything that is remembered."""

import csv
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Pair:
    language: str
    kind: str
    question: str
    memory: str


def pairs() -> list[Pair]:
    with (_FOLDER / "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Pair(**row) for row in rows]


def remembered() -> list[str]:
    """The answers to all questions, and the others."""
    others = (_FOLDER / "others.txt").read_text(encoding="utf-8").splitlines()
    return [*(pair.memory for pair in pairs()), *others]
