"""What refusals taught about models' windows, kept for every session of this machine.

The daemon keeps it, in a file that people may look at or remove, and answers `local.window`: what
is known of a model at a server, and with `window` what was just learned. Sessions call through
`router`; nothing secret is in what they name.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline.execution.errors import RequestFailed
from trunkline.execution.files import load_json, save_json
from trunkline.execution.json_object import Json
from trunkline.execution.llm.windows import Lesson
from trunkline.model_windows import WINDOW_MAX, WINDOW_MIN

METHOD = "local.window"
LESSONS_MAX = 500  # the newest

_Window = Annotated[int, Meta(ge=WINDOW_MIN, le=WINDOW_MAX)]


class _Asked(msgspec.Struct):
    """Comes from a session's process."""

    place: Annotated[str, Meta(min_length=1, max_length=2_000)]
    window: _Window | None = None
    told: Annotated[int, Meta(ge=0, le=WINDOW_MAX)] = 0


class Lessons:
    def __init__(self, path: Path) -> None:
        self._path = path

    async def answer(self, params: Json, _tell: Any) -> Json | None:
        """What is known; None for nothing. Raises RequestFailed."""
        try:
            asked = msgspec.convert(params, _Asked)
        except msgspec.ValidationError as error:
            raise RequestFailed("INVALID_REQUEST", str(error)) from error
        # Read each time: it is small, and whoever removes the file means it.
        known = load_json(self._path, dict[str, Lesson], "what refusals taught") or {}
        if asked.window is not None:
            known.pop(asked.place, None)
            known[asked.place] = Lesson(asked.window, asked.told)
            newest = dict(list(known.items())[-LESSONS_MAX:])
            save_json(self._path, newest, "what refusals taught")
        found = known.get(asked.place)
        return None if found is None else msgspec.structs.asdict(found)
