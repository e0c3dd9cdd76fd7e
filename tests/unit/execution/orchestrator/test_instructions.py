"""`AGENTS.md`: what a project says reaches the model once, bounded, and never from elsewhere."""

from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.orchestrator.instructions import (
    INSTRUCTIONS_ALL_CHARS_MAX,
    INSTRUCTIONS_CHARS_MAX,
    Instructions,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository `code` with a part `code/app` that is worked in, below the root `roots`."""
    app = tmp_path / "roots" / "code" / "app"
    app.mkdir(parents=True)
    (app.parent / ".git").mkdir()
    return app


def of(project: Path) -> Instructions:
    roots = project.parents[1]
    return Instructions(project, roots.parent / "session", [roots])


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_they_are_read_from_the_repositorys_top_down(project: Path) -> None:
    put(project.parents[1] / "AGENTS.md", "above the repository")
    put(project.parent / "AGENTS.md", "of the repository")
    put(project.parent / "CLAUDE.md", "beside another")
    put(project / "CLAUDE.md", "of the part")
    put(project / "deep" / "AGENTS.md", "further down")
    said = of(project).prompt()
    assert "file='../AGENTS.md'" in said
    assert said.index("of the repository") < said.index("of the part")
    for word in ("above the repository", "beside another", "further down"):
        assert word not in said


def test_no_project_begins_above_what_the_machine_allows(project: Path) -> None:
    put(project.parent / "AGENTS.md", "of the repository")
    put(project / "AGENTS.md", "of the part")
    said = Instructions(project, project.parents[2] / "session", [project]).prompt()
    assert "of the part" in said
    assert "of the repository" not in said


def test_links_out_of_the_project_and_other_things_are_not_read(project: Path) -> None:
    secret = project.parents[1] / "secret.txt"
    put(secret, "somebody's password")
    (project / "AGENTS.md").symlink_to(secret)
    (project.parent / "AGENTS.md").mkdir()
    put(project / "a" / "CLAUDE.md", "kept elsewhere in the project")
    (project / "b").mkdir()
    (project / "b" / "AGENTS.md").symlink_to(project / "a" / "CLAUDE.md")
    found = of(project)
    assert found.prompt() == ""
    assert found.below(["../../secret.txt", "/", "\0", "b/x"]).count("kept elsewhere") == 1


def test_they_are_bounded(project: Path) -> None:
    put(project / "AGENTS.md", "x" * 10_000_000)
    for name in "abc":
        put(project / name / "AGENTS.md", "y" * 10_000_000)
    found = of(project)
    assert len(found.prompt()) < INSTRUCTIONS_CHARS_MAX + 1_000
    told = found.below(["a/1", "b/1", "c/1"])
    assert len(told) < INSTRUCTIONS_ALL_CHARS_MAX - INSTRUCTIONS_CHARS_MAX + 1_000
    assert "more characters are in the file" in told


def test_what_changes_is_told_once_and_the_prompt_stays(project: Path) -> None:
    put(project / "AGENTS.md", "use tabs")
    put(project / "deep" / "AGENTS.md", "no tests here")
    first = of(project)
    before = first.prompt()
    assert "no tests here" in first.below(["deep/er/file.txt"])
    assert first.below(["deep/er/file.txt", "deep"]) == first.news() == ""
    put(project / "AGENTS.md", "use spaces")
    (project / "deep" / "AGENTS.md").unlink()
    # A new process of the same session knows what was told.
    again = of(project)
    news = again.news()
    assert "use spaces" in news
    assert "deep/AGENTS.md are gone" in news
    assert (again.news(), again.prompt()) == ("", before)


async def test_the_model_is_told(daemon: Daemon, model: ModelServer) -> None:
    work = daemon.home.workspace
    put(work / "AGENTS.md", "Say moin.")
    put(work / "sub" / "AGENTS.md", "Sub is special.")
    put(work / "sub" / "file.txt", "content")
    read = ToolUse(name="read_file", arguments={"path": "sub/file.txt"})
    model.script(Turn(tool_calls=[read]), Turn(text="Moin."), Turn(text="Servus."))
    await daemon.start()
    await daemon.ask("Hello?")
    put(work / "AGENTS.md", "Say servus.")
    await daemon.ask("And now?")
    first, second, third = model.requests
    assert "Say moin." in first.system
    assert "Sub is special." not in first.system
    assert "Sub is special." in second.tool_results[0]
    assert first.system == third.system
    assert "Say servus." in third.messages[-1]["content"]
