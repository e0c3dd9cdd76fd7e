"""The conversation of a session up to a turn, for a copy of it."""

from pathlib import Path

import pytest

from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.forked import moved, upto, with_files
from trunkline.execution.orchestrator.from_log import messages_of, said_in
from trunkline.execution.session.ipc import Fork

SHORTENED: list[Message] = [
    {"role": "user", "content": "two", "turn_id": "t2", "summary": "one was said"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": "left", "steers": "m1"},
    {"role": "assistant", "content": "2 left"},
    {"role": "user", "content": "three", "turn_id": "t3"},
    {"role": "assistant", "content": "3"},
]


@pytest.mark.parametrize(
    ("turn", "end"), [("t1", None), ("t2", 4), ("t3", 6), ("m1", None)], ids=str
)
def test_a_shortened_conversation_is_cut_where_it_still_can_be(turn: str, end: int | None) -> None:
    assert upto(SHORTENED, turn) == (None if end is None else SHORTENED[:end])


def test_turns_of_the_log_can_be_told_apart_in_the_copy() -> None:
    log = [
        {"role": "user", "content": "one", "turn_id": "t1"},
        {"role": "assistant", "content": "1", "turn_id": "t1"},
        {"role": "user", "content": "left", "turn_id": "t1", "steers": "m1"},
        {"role": "robot", "content": "?"},
        {"role": "user", "content": "two", "turn_id": "t2"},
    ]
    copied = messages_of(said_in(log))
    assert [one["content"] for one in upto(copied, "t1") or []] == ["one", "1", "left"]
    assert upto(copied, "t2") == copied


def test_turns_and_attached_files_have_their_names_in_the_copy() -> None:
    said: list[Message] = [
        {
            "role": "user",
            "content": "Read.\n- /home/.semibot/sessions/s1/attachments/a.txt (9 bytes)",
            "turn_id": "t1",
        },
        {"role": "assistant", "content": "I read /home/.semibot/sessions/s11/attachments/a.txt"},
    ]
    here, other = moved(said, Fork(session_id="s1", turn_id="t1", turns={"t1": "c1"}), "s2")
    assert here["turn_id"] == "c1"
    assert here["content"] == "Read.\n- /home/.semibot/sessions/s2/attachments/a.txt (9 bytes)"
    assert other == said[1]


def test_what_the_log_tells_is_told_with_the_files_that_came_with_it(tmp_path: Path) -> None:
    said: list[Message] = [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": "Yes."},
    ]
    assert with_files(said, tmp_path) == said
    (tmp_path / "attachments").mkdir()
    (tmp_path / "attachments" / "a.txt").touch()
    first, second = with_files(said, tmp_path)
    assert first["content"].endswith(f"- {tmp_path}/attachments/a.txt")
    assert second == said[1]
    assert with_files([], tmp_path) == []
