"""What the program plans, as a `plan` event: its list of things to do, however it keeps one.

Versions differ: some write the whole list at once (`TodoWrite`), some make and change its items
one by one (`TaskCreate`, `TaskUpdate`). Pure.
"""

from typing import Any

from trunkline.execution.json_object import Json
from trunkline.execution.plans import TASKS_MAX, plan_fields, task
from trunkline.execution.runtimes.claude_code.output import text_of


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
                self._tasks[task_id] = task(text_of(given.get("subject")), "pending")
            case "TaskUpdate":
                if not self._changed(text_of(given.get("taskId")), given):
                    return None
            case _:
                return None
        return plan_fields(list(self._tasks.values()))

    def _changed(self, task_id: str, given: Json) -> bool:
        known = self._tasks.get(task_id)
        if known is None:
            return False
        if given.get("status") == "deleted":
            del self._tasks[task_id]
        else:
            status = text_of(given.get("status")) or known["status"]
            title = text_of(given.get("subject")) or known["title"]
            self._tasks[task_id] = task(title, status)
        return True


def _listed(todos: Any) -> dict[str, Json]:
    given = [one for one in todos if isinstance(one, dict)] if isinstance(todos, list) else []
    return {
        str(number): task(text_of(one.get("content")), text_of(one.get("status")))
        for number, one in enumerate(given[:TASKS_MAX], 1)
    }
