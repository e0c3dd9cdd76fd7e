"""`read_skill_file`: the guide of a skill, or another of its files."""

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import children
from trunkline.execution.skills.registry import SkillRegistry, read_in
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, object_schema

_GUIDE = "SKILL.md"


class ReadSkillFile(Tool):
    name = "read_skill_file"
    description = (
        "Reads a file of one of the available skills. Read SKILL.md first: it says how the skill "
        "is used. Scripts of a skill are run with bash, from the skill's folder."
    )
    parameters = object_schema(
        {
            "skill": {"type": "string", "minLength": 1, "maxLength": limits.NAME_CHARS_MAX},
            "path": {
                "type": "string",
                "minLength": 1,
                "maxLength": limits.SKILL_PATH_CHARS_MAX,
                "description": f"Within the skill's folder; {_GUIDE} unless set.",
            },
        },
        required=["skill"],
    )

    def __init__(self, skills: SkillRegistry) -> None:
        self._skills = skills

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        path = arguments.get("path", _GUIDE)
        if path != _GUIDE:
            return await self._read(arguments["skill"], path)
        # To read the guide is to use the skill: readers see that as a call of the skill.
        skill = {"skill_name": self._skills.find(arguments["skill"]).name}
        run.event({"type": "skill_call_start", **skill, "arguments": arguments})
        try:
            result = await self._read(arguments["skill"], path)
        except ToolError as error:
            run.event({"type": "skill_call_complete", **skill, "result": {"error": str(error)}})
            raise
        run.event({"type": "skill_call_complete", **skill, "result": result.details})
        return result

    async def _read(self, skill: str, path: str) -> ToolResult:
        folder = await self._skills.load(skill)
        text = await children.call(read_in, folder, path)
        if path == _GUIDE:
            text += f"\n\n[The files of this skill are in {folder}/]"
        return ToolResult(content=text, details={"path": f"{folder}/{path}"})
