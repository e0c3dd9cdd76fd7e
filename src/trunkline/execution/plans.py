"""A list of things to do as a `plan` event tells it, whichever runtime keeps one. Pure."""

from collections.abc import Sequence

from trunkline.execution.json_object import Json
from trunkline.execution.texts import shortened

TASKS_MAX = 200
TITLE_CHARS_MAX = 500
_MARKS = {"completed": "[x]", "in_progress": "[>]"}


def task(title: str, status: str) -> Json:
    return {
        "title": shortened(title, TITLE_CHARS_MAX),
        "status": shortened(status, 40) or "pending",
    }


def plan_fields(tasks: Sequence[Json]) -> Json:
    """Of the event: the tasks, and the same as text."""
    lines = [f"{_MARKS.get(one['status'], '[ ]')} {one['title']}" for one in tasks]
    return {"plan": {"tasks": list(tasks)}, "content": "\n".join(lines)}
