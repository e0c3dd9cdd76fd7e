"""`todo_write`: what the agent has to do, for itself and for people: the `plan` event shows it."""

from trunkline.execution.json_object import Json
from trunkline.execution.plans import TASKS_MAX, TITLE_CHARS_MAX, plan_fields, task
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema


class TodoWrite(Tool):
    name = "todo_write"
    description = (
        "Writes your list of things to do, in place of the last one; people see it. Use it for "
        "work of three steps and more: write all of them first, keep exactly one in_progress, and "
        "mark each as completed as soon as it is."
    )
    parameters = object_schema(
        {
            "todos": {
                "type": "array",
                "maxItems": TASKS_MAX,
                "items": object_schema(
                    {
                        "content": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": TITLE_CHARS_MAX,
                        },
                        "status": {"enum": ["pending", "in_progress", "completed"]},
                    },
                    required=["content", "status"],
                ),
            }
        },
        required=["todos"],
    )

    def touches(self, arguments: Json) -> Touches:
        return Touches(writes=("todos",))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        tasks = [task(one["content"], one["status"]) for one in arguments["todos"]]
        fields = plan_fields(tasks)
        run.event({"type": "plan", **fields})
        return ToolResult(content=fields["content"] or "(nothing to do)", todos=tasks)
