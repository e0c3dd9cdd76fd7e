"""`read_skill_file`: a guide that is read is a skill that is called."""

from typing import Any

import pytest

from tests.unit.execution.tools.support import Call, Control
from trunkline.execution.errors import ToolError
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools.commands import Bash
from trunkline.execution.tools.skill_file import ReadSkillFile
from trunkline.execution.tools.text_files import Paths

FILES = [
    {"path": "SKILL.md", "content": "Use run.sh."},
    {"path": "scripts/run.sh", "content": "#!/bin/sh\necho ran"},
]
INDEX = [{"id": "pdf", "name": "PDF tools", "description": "d"}]


def tool(call: Call, answer: Any) -> ReadSkillFile:
    control = Control(get_skill_package=answer)
    return ReadSkillFile(SkillRegistry(INDEX, call.home, control, {}))


async def test_the_guide_is_returned_with_its_folder_and_shown_as_a_call(call: Call) -> None:
    reader = tool(call, {"package": {"files": FILES}})
    result = await call.run(reader, skill="PDF tools")
    folder = (call.home.skills / "pdf").resolve()
    assert result.content == f"Use run.sh.\n\n[The files of this skill are in {folder}/]"
    path = f"{folder}/SKILL.md"
    assert call.events == [
        {
            "type": "skill_call_start",
            "skill_name": "PDF tools",
            "arguments": {"skill": "PDF tools"},
        },
        {"type": "skill_call_complete", "skill_name": "PDF tools", "result": {"path": path}},
    ]


async def test_each_session_is_told_of_the_folder_of_its_own_version(
    call: Call, env: dict[str, str]
) -> None:
    def answer(skill_id: str, version: str) -> Any:
        script = {"path": "scripts/run.sh", "content": f"#!/bin/sh\necho ran {version}"}
        guide = {"path": "SKILL.md", "content": version}
        return {"package": {"version": version, "files": [guide, script]}}

    control = Control(get_skill_package=answer)
    paths = Paths(call.home.workspace, call.home.skills)
    bash = Bash(env, paths)
    told = {}
    for version in ("1", "2"):
        skills = SkillRegistry([{**INDEX[0], "version": version}], call.home, control, {})
        result = await call.run(ReadSkillFile(skills), skill="pdf")
        told[version] = result.content.partition("are in ")[2].rstrip("/]")
        assert result.details["path"] == f"{told[version]}/SKILL.md"
    for version, folder in told.items():
        assert not bash.is_dangerous({"command": f"cat '{folder}/SKILL.md'"})
        ran = await call.run(bash, command=f"'{folder}/scripts/run.sh'")
        assert ran.content.strip() == f"ran {version}"


async def test_another_file_is_returned_as_it_is_and_is_no_call(call: Call) -> None:
    reader = tool(call, {"package": {"files": FILES}})
    result = await call.run(reader, skill="pdf", path="scripts/run.sh")
    assert result.content == "#!/bin/sh\necho ran"
    assert call.events == []


async def test_a_call_that_fails_is_completed_too(call: Call) -> None:
    with pytest.raises(ToolError, match="no skill"):
        await call.run(tool(call, {"package": None}), skill="pdf")
    assert [event["type"] for event in call.events] == ["skill_call_start", "skill_call_complete"]
    assert "no skill" in call.events[1]["result"]["error"]


async def test_an_unknown_skill_is_an_error_that_names_the_known_ones(call: Call) -> None:
    with pytest.raises(ToolError, match="there are: PDF tools"):
        await call.run(tool(call, {}), skill="xlsx")
    assert call.events == []


@pytest.mark.parametrize(
    "path", ["../../config.json", "/etc/passwd", "scripts", "missing.md", "a\0b", "x" * 5000]
)
async def test_a_path_that_is_no_file_of_the_skill_is_refused(call: Call, path: str) -> None:
    (call.home.internal / "config.json").write_text("{}")
    with pytest.raises(ToolError, match=r"outside|is a folder|there is no file|usable|too long"):
        await call.run(tool(call, {"package": {"files": FILES}}), skill="pdf", path=path)
