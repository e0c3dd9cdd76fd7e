"""What refusals taught is kept for the machine's next sessions."""

from pathlib import Path
from typing import Any

import pytest

from trunkline.execution.errors import RequestFailed
from trunkline.execution.llm.lessons import LESSONS_MAX, Lessons


def quiet(_text: str) -> None:
    """Nobody is told how far it is."""


async def test_what_one_session_learned_the_next_one_is_told_also_by_another_daemon(
    tmp_path: Path,
) -> None:
    file = tmp_path / "windows.json"
    assert await Lessons(file).answer({"place": "here x"}, quiet) is None
    learned = {"place": "here x", "window": 4_096, "told": 0}
    assert await Lessons(file).answer(learned, quiet) == {"window": 4_096, "told": 0}
    assert await Lessons(file).answer({"place": "here x"}, quiet) == {"window": 4_096, "told": 0}
    assert await Lessons(file).answer({"place": "here y"}, quiet) is None
    file.write_bytes(b"torn{")
    assert await Lessons(file).answer({"place": "here x"}, quiet) is None


async def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    lessons = Lessons(tmp_path / "windows.json")
    for number in range(LESSONS_MAX + 1):
        await lessons.answer({"place": f"here {number}", "window": 4_096}, quiet)
    assert await lessons.answer({"place": "here 0"}, quiet) is None
    assert await lessons.answer({"place": "here 1"}, quiet) is not None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"place": ""},
        {"place": "x" * 3_000},
        {"place": 7},
        {"place": "x", "window": 1},
        {"place": "x", "window": "4096"},
        {"place": "x", "window": 4_096, "told": -1},
    ],
)
async def test_what_is_no_lesson_is_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    with pytest.raises(RequestFailed):
        await Lessons(tmp_path / "windows.json").answer(params, quiet)
    assert not list(tmp_path.iterdir())
