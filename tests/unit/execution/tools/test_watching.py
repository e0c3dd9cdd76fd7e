"""What a command changed is told, whatever kind of folder it is in, and nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.support.git import committed, git
from tests.unit.execution.tools.support import Call
from trunkline.execution.tools.background import Background, BashOutput
from trunkline.execution.tools.commands import Bash
from trunkline.execution.tools.text_files import Paths
from trunkline.execution.tools.watching import FILES_MAX, SLOW_LOOKS_MAX, Watch
from trunkline.execution.tools.writing import EditFile

Json = dict[str, Any]


class Shell:
    """Commands in a watched folder."""

    def __init__(self, call: Call, bash: Bash, watch: Watch) -> None:
        self._call = call
        self._bash = bash
        self.watch = watch

    async def __call__(self, command: str) -> dict[str, str]:
        """The files that it was said to have changed, and how."""
        self._call.events.clear()
        await self.watch.run(self._bash, {"command": command}, self._call.told_by())
        return {one["path"]: one["change"] for one in self.changes()}

    def changes(self) -> list[Json]:
        return [one for one in self._call.events if one["type"] == "file_changed"]

    def diff(self, path: str) -> str:
        [found] = [one["diff"] for one in self.changes() if one["path"] == path]
        return str(found)


@pytest.fixture(params=["a repository", "part of a repository", "plain"])
def shell(
    request: pytest.FixtureRequest, call: Call, paths: Paths, env: dict[str, str], tmp_path: Path
) -> Shell:
    folder = call.home.workspace
    (folder / "sub").mkdir()
    for name, text in (("old.txt", "one\ntwo\n"), ("sub/deep.txt", "deep\n"), ("bye.txt", "x\n")):
        (folder / name).write_text(text)
    (folder / ".gitignore").write_text("*.log\n")
    if request.param == "a repository":
        committed(folder)
    elif request.param == "part of a repository":
        (folder.parent / "outside.txt").write_text("x")
        git(folder.parent, "init", "-qb", "main")
        git(folder.parent, "add", "workspace", "outside.txt")
        git(folder.parent, "commit", "-qm", "first")
    return Shell(call, Bash(env, paths), Watch(folder, tmp_path / "view", look_s_max=30.0))


async def test_it_is_told_with_diffs(shell: Shell) -> None:
    assert await shell("echo three >> old.txt; echo new > new.txt; rm bye.txt") == {
        "old.txt": "modified",
        "new.txt": "created",
        "bye.txt": "deleted",
    }
    assert "+three\n" in shell.diff("old.txt")
    assert "-x\n" in shell.diff("bye.txt")
    assert "+new\n" in shell.diff("new.txt")
    # What was changed before is no news; what is put back is.
    assert await shell("echo 4 >> new.txt; printf 'one\\ntwo\\n' > old.txt") == {
        "new.txt": "modified",
        "old.txt": "modified",
    }
    assert "+4\n" in shell.diff("new.txt")
    assert "-three\n" in shell.diff("old.txt")
    assert await shell("rm new.txt; touch -d yesterday sub/deep.txt; true > /dev/null") == {
        "new.txt": "deleted"
    }


async def test_looking_changes_and_tells_nothing(shell: Shell) -> None:
    assert await shell("ls") == await shell("cat old.txt > /dev/null; ls ..") == {}


async def test_a_commit_is_no_change_of_files(call: Call, shell: Shell) -> None:
    if not (call.home.workspace / ".git").exists():
        return
    who = "-c user.name=A -c user.email=a@example.org"
    assert await shell(f"echo n > n.txt; git add -A; git {who} commit -qm n") == {
        "n.txt": "created"
    }
    assert await shell(f"git {who} commit -q --allow-empty -m m; echo x > x.log") == {}
    assert await shell("git reset -q --hard HEAD~2") == {"n.txt": "deleted"}


async def test_what_a_command_in_the_background_changes_is_told_once_and_as_its_work(
    call: Call, paths: Paths, env: dict[str, str], shell: Shell
) -> None:
    def changed() -> dict[str, str]:
        found = {one["path"]: one["change"] for one in shell.changes()}
        call.events.clear()
        return found

    background = Background()
    bash = Bash(env, paths, background)
    command = {"command": "until [ -e ../go ]; do sleep 0.01; done; echo n > made.txt; rm bye.txt"}
    started = await shell.watch.run(bash, {**command, "background": True}, call.told_by())
    assert changed() == {}
    edit = {"path": "old.txt", "edits": [{"old_text": "one", "new_text": "1"}]}
    await shell.watch.run(EditFile(paths, call.home), edit, call.told_by())
    assert changed() == {"old.txt": "modified"}
    await shell.watch.catch_up(is_running=True)
    assert changed() == {}
    (call.home.root / "go").touch()
    output = BashOutput(background)
    left = background.get(str(started.details["id"]))
    await until(lambda: not left.is_running)
    await shell.watch.run(output, {"id": left.id}, call.told_by())
    assert changed() == {"made.txt": "created", "bye.txt": "deleted"}
    assert await shell("echo x > x.txt") == {"x.txt": "created"}
    call.events.clear()
    await shell.watch.catch_up(is_running=False)
    assert changed() == {}
    await background.close()


async def test_a_folder_of_too_many_files_is_not_watched(
    call: Call, paths: Paths, env: dict[str, str], tmp_path: Path
) -> None:
    for number in range(FILES_MAX + 1):
        (call.home.workspace / str(number)).touch()
    shell = Shell(call, Bash(env, paths), Watch(call.home.workspace, tmp_path / "view"))
    for _ in range(SLOW_LOOKS_MAX + 1):
        assert await shell("echo x > new.txt") == {}


async def test_many_changes_are_told_without_all_their_diffs(shell: Shell) -> None:
    told = await shell("for i in $(seq 120); do echo $i > n$i.txt; done")
    assert len(told) == 120
    assert sum(bool(one["diff"]) for one in shell.changes()) == 50
