"""The golden files: lines of the real program, and the events that they mean."""

import json
from pathlib import Path
from typing import Any

from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.translator import Translator

FOLDER = Path(__file__).parent / "golden"


def events_of(lines: list[str]) -> list[Any]:
    """For each line that means something its events, with the line's number."""
    translator = Translator()
    found: list[Any] = []
    for number, text in enumerate(lines, 1):
        line = output.read(text.encode())
        assert line is not None
        found += [[number, kind, fields] for kind, fields in translator.events(line)]
    return found


def written(events: list[Any]) -> str:
    """One event per line, so that a difference can be read."""
    return "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in events) + "\n]\n"
