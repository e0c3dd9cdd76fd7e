"""What the program plans, as a `plan` event: its list of things to do, however it keeps one.

Versions differ: some write the whole list at once (`TodoWrite`), some make and change its items
one by one (`TaskCreate`, `TaskUpdate`). Pure.
"""

from typing import Any

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.claude_code.output import text_of
from trunkline.execution.texts import shortened

TASKS_MAX = 200
_TITLE_CHARS_MAX = 500
_MARKS = {"completed": "[x]", "in_progress": "[>]"}


class Plan:
    """Of one conversation."""

    def __init__(self) -> None:
        self._tasks: dict[str, Json] = {}

    def after(self, tool: str, given: Json, result: Any) -> Json | None:
        """The fields of the event, if this call has changed the plan. `result`: what the program
        says of it besides the text for the model."""
        match tool:
            case "TodoWrite":
                self._tasks = _listed(given.get("todos"))
            case "TaskCreate":
                made = result.get("task") if isinstance(result, dict) else None
                task_id = text_of(made.get("id")) if isinstance(made, dict) else ""
                if not task_id or len(self._tasks) >= TASKS_MAX:
                    return None
                self._tasks[task_id] = _task(given.get("subject"), "pending")
            case "TaskUpdate":
                if not self._changed(text_of(given.get("taskId")), given):
                    return None
            case _:
                return None
        return self._event()

    def _changed(self, task_id: str, given: Json) -> bool:
        task = self._tasks.get(task_id)
        if task is None:
            return False
        if given.get("status") == "deleted":
            del self._tasks[task_id]
        else:
            status = text_of(given.get("status")) or task["status"]
            self._tasks[task_id] = _task(given.get("subject") or task["title"], status)
        return True

    def _event(self) -> Json:
        tasks = list(self._tasks.values())
        lines = [f"{_MARKS.get(one['status'], '[ ]')} {one['title']}" for one in tasks]
        return {"plan": {"tasks": tasks}, "content": "\n".join(lines)}


def _listed(todos: Any) -> dict[str, Json]:
    given = [one for one in todos if isinstance(one, dict)] if isinstance(todos, list) else []
    return {
        str(number): _task(one.get("content"), text_of(one.get("status")))
        for number, one in enumerate(given[:TASKS_MAX], 1)
    }


def _task(title: Any, status: str) -> Json:
    return {
        "title": shortened(text_of(title), _TITLE_CHARS_MAX),
        "status": shortened(status, 40) or "pending",
    }
