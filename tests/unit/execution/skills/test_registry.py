"""Skills of a session: fetched once for the whole machine, in the version that is wanted."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from tests.unit.execution.skills.fetcher import PROCESSES
from tests.unit.execution.tools.support import Control
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.home import Home
from trunkline.execution.skills.packages import SKILL_VERSIONS_KEPT
from trunkline.execution.skills.registry import SkillRegistry, read_in


def package(version: str, text: str = "guide") -> dict[str, Any]:
    files = [
        {"path": "SKILL.md", "content": f"{text} {version}"},
        {"path": "scripts/run.sh", "content": "#!/bin/sh\necho ran"},
    ]
    return {"package": {"skill_id": "pdf", "version": version, "files": files}}


def answering(**params: Any) -> Any:
    return package("9" if params["version"] == "latest" else params["version"])


def registry(home: Home, control: Control, version: str | None = None) -> SkillRegistry:
    entry = {"id": "pdf", "name": "PDF tools", "description": "d"}
    return SkillRegistry([{**entry, "version": version} if version else entry], home, control, {})


async def read(skills: SkillRegistry, skill: str, path: str = "SKILL.md") -> str:
    return read_in(await skills.load(skill), path)


@pytest.fixture
def control() -> Control:
    return Control(get_skill_package=answering)


@pytest.mark.proves(
    "004-7.2-skill-by-cache",
    "004-8-cache-hit",
    "004-8-cache-miss",
    "004-8-stays-cached",
    "004-8-version",
    "004-10-cached-skill",
    "004-3.1-get-skill-package",
)
async def test_a_skill_is_fetched_once_and_then_read_without_the_line(
    home: Home, control: Control
) -> None:
    skills = registry(home, control, "1")
    assert await read(skills, "PDF tools") == "guide 1"
    control.online = False
    assert (
        await read(registry(home, control, "1"), "pdf", "scripts/run.sh") == "#!/bin/sh\necho ran"
    )
    assert control.asked == [("get_skill_package", {"skill_id": "pdf", "version": "1"})]


@pytest.mark.proves("004-3.1-get-skill-package")
async def test_a_skill_without_a_version_is_asked_for_as_the_latest(
    home: Home, control: Control
) -> None:
    await registry(home, control).load("pdf")
    assert control.asked == [("get_skill_package", {"skill_id": "pdf", "version": "latest"})]


@pytest.mark.proves("004-4.7-whole-folder", "004-4.7-scripts-by-bash", "004-8-version")
async def test_its_folder_is_where_the_prompt_says(home: Home, control: Control) -> None:
    skills = registry(home, control)
    await skills.load("pdf")
    assert f'path="{home.skills / "pdf"}/"' in skills.prompt()
    assert (home.skills / "pdf" / "SKILL.md").read_text() == "guide 9"
    script = home.skills / "pdf" / "scripts" / "run.sh"
    process = await asyncio.create_subprocess_exec(script, stdout=PIPE)
    assert (await process.communicate())[0] == b"ran\n"


async def test_another_version_takes_the_place_of_the_one_that_is_there(
    home: Home, control: Control
) -> None:
    old = await registry(home, control, "1").load("pdf")
    new = await registry(home, control, "2").load("pdf")
    assert (home.skills / "pdf" / "SKILL.md").read_text() == "guide 2"
    assert (old / "SKILL.md").read_text() == "guide 1"
    assert (new / "SKILL.md").read_text() == "guide 2"
    assert await read(registry(home, control, "1"), "pdf") == "guide 1"
    assert len(control.asked) == 2


async def test_the_latest_is_whatever_version_is_here(home: Home, control: Control) -> None:
    await registry(home, control, "1").load("pdf")
    assert await read(registry(home, control), "pdf") == "guide 1"
    assert len(control.asked) == 1


async def test_only_a_few_versions_are_kept(home: Home, control: Control) -> None:
    for number in range(SKILL_VERSIONS_KEPT + 3):
        await registry(home, control, str(number)).load("pdf")
    kept = list((home.skills / ".packages" / "pdf").iterdir())
    assert len(kept) == SKILL_VERSIONS_KEPT
    assert (home.skills / "pdf" / "SKILL.md").is_file()


@pytest.mark.parametrize("version", ["../../../x", "a/b", ".", "..", "数", "x" * 200, ".new-x"])
async def test_a_hostile_version_is_only_a_label(
    home: Home, control: Control, version: str
) -> None:
    folder = await registry(home, control, version).load("pdf")
    assert folder.parent == (home.skills / ".packages" / "pdf").resolve()
    assert await read(registry(home, control, version), "pdf") == f"guide {version}"
    assert len(control.asked) == 1


@pytest.mark.proves("004-8-cache-hit")
async def test_a_folder_that_a_person_made_is_used_and_never_replaced(
    home: Home, control: Control
) -> None:
    (home.skills / "pdf").mkdir()
    (home.skills / "pdf" / "SKILL.md").write_text("by hand")
    assert await read(registry(home, control, "2"), "pdf") == "by hand"
    assert control.asked == []


@pytest.mark.proves("004-8-cache-miss")
async def test_a_folder_without_a_guide_is_no_skill_and_makes_way(
    home: Home, control: Control
) -> None:
    (home.skills / "pdf" / "scripts").mkdir(parents=True)
    assert await read(registry(home, control), "pdf") == "guide 9"
    assert (home.skills / "pdf" / "SKILL.md").is_file()


@pytest.mark.parametrize("is_folder", [True, False])
async def test_what_makes_way_is_kept_for_good(
    home: Home, control: Control, is_folder: bool
) -> None:
    mine = home.skills / "pdf"
    if is_folder:
        mine.mkdir()
        mine /= "mine.txt"
    mine.write_text("precious")
    for number in range(SKILL_VERSIONS_KEPT + 2):
        await registry(home, control, str(number)).load("pdf")
    kept = next(home.skills.glob(".kept-pdf-*"))
    assert (kept / "mine.txt" if is_folder else kept).read_text() == "precious"


async def test_what_a_killed_process_left_is_cleared_away(home: Home, control: Control) -> None:
    rest = home.skills / ".packages" / "pdf" / ".new-1234"
    rest.mkdir(parents=True)
    (rest / "half").touch()
    await registry(home, control, "1").load("pdf")
    names = {path.name for path in rest.parent.iterdir()}
    assert names == {"1"}


async def test_a_link_that_leads_out_of_the_cache_is_not_followed(
    home: Home, control: Control, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text("not yours")
    (home.skills / "pdf").symlink_to(tmp_path / "elsewhere")
    assert await read(registry(home, control), "pdf") == "guide 9"


@pytest.mark.parametrize("error", [ConnectionError("down"), TimeoutError()])
@pytest.mark.proves("004-10-uncached-skill")
async def test_a_skill_that_is_not_here_cannot_be_had_without_the_line(
    home: Home, error: Exception
) -> None:
    skills = registry(home, Control(get_skill_package=error))
    with pytest.raises(ToolError, match="not on this machine yet"):
        await skills.load("pdf")
    assert not (home.skills / "pdf").exists()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RequestFailed("SKILL_NOT_FOUND", "Skill package pdf not found"), "pdf not found"),
        ({"package": None}, "has no skill"),
        (None, "has no skill"),
        ([], "has no skill"),
        (package("2"), "version 1 was asked for and version 2 came"),
        ({"package": {"files": []}}, "no SKILL.md"),
        ({"package": {"files": [{"path": "../x", "content": ""}]}}, "leads out"),
    ],
)
@pytest.mark.proves("004-8-inside-the-folder")
async def test_a_skill_that_cannot_be_had_is_an_error_and_leaves_nothing(
    home: Home, answer: Any, reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        await registry(home, Control(get_skill_package=answer), "1").load("pdf")
    assert [path for path in home.skills.rglob("*") if path.is_file()] == []
    assert not (home.root / "x").exists()


@pytest.mark.proves("004-8-unavailable-not-offered", "004-8-requires-binaries")
async def test_skills_whose_needs_are_not_met_are_not_offered(home: Home) -> None:
    index: list[Any] = [
        {"id": "fine", "name": "fine", "requires": {"env_vars": ["SET"]}},
        {"id": "poor", "name": "poor", "requires": {"binaries": ["no-such-program"]}},
        {"id": "../bad", "name": "bad"},
        "no object",
    ]
    skills = SkillRegistry(index, home, Control(), {"PATH": "/usr/bin", "SET": "x"})
    assert [entry.name for entry in skills.available] == ["fine"]
    assert [(entry["name"], missing) for entry, missing in skills.unavailable] == [
        ("poor", ["binary:no-such-program"]),
        ("bad", ["its id is no folder name"]),
    ]
    assert "poor" not in skills.prompt()
    assert skills.env_vars() == {"SET"}
    with pytest.raises(ToolError, match="missing: binary:no-such-program"):
        await skills.load("poor")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "VM_TOKEN", "LD_PRELOAD"])
@pytest.mark.proves("004-8-unavailable-not-offered")
def test_a_skill_whose_variable_its_scripts_never_get_is_not_offered(home: Home, name: str) -> None:
    env = {name: "sk-12345678", "NOTION_TOKEN": "n-12345678"}
    index = [
        {"id": "poor", "name": "poor", "requires": {"env_vars": [name]}},
        {"id": "fine", "name": "fine", "requires": {"env_vars": ["NOTION_TOKEN"]}},
    ]
    skills = SkillRegistry(index, home, Control(), env, secrets=["sk-12345678"])
    assert [entry.name for entry in skills.available] == ["fine"]
    assert [missing for _, missing in skills.unavailable] == [[f"env:{name}"]]


@pytest.mark.proves("004-6-skills-are-shared")
async def test_of_several_processes_that_ask_at_once_one_fetches(home: Home) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.unit.execution.skills.fetcher", str(home.root)),
            stdin=PIPE,
            stdout=PIPE,
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    answers = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [answer[0].splitlines()[-1] for answer in answers] == [b"51"] * PROCESSES
    assert (home.root / "notes").read_text() == "get_skill_package\n"
