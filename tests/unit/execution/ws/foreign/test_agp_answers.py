"""How prompts were answered: known to the next process too, and bounded."""

from pathlib import Path

from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.foreign.agp_answers import Answers, Open


def answers(folder: Path, **bounds: int) -> Answers:
    return Answers(Journal(folder / "answers.jsonl"), **bounds)


def answer(text: str) -> bytes:
    return f'"{text}"'.encode()


def test_another_process_knows_what_is_open_and_what_was_answered(tmp_path: Path) -> None:
    first = answers(tmp_path)
    first.begin(Open("s", "p-1", "device_001", "user_123"))
    first.begin(Open("s", "p-2", "device_001", "user_123"))
    first.keep("s", "p-1", answer("one"))
    with (tmp_path / "answers.jsonl").open("ab") as file:
        file.write(b'{"session_id": "s", "pro')  # its last words
    second = answers(tmp_path)
    assert second.get("s", "p-1") == answer("one")
    assert second.open() == [Open("s", "p-2", "device_001", "user_123")]
    second.keep("s", "p-2", answer("two"))
    third = answers(tmp_path)
    assert third.open() == []
    assert third.get("s", "p-2") == answer("two")


def test_a_prompt_is_known_by_its_session_too(tmp_path: Path) -> None:
    box = answers(tmp_path)
    box.begin(Open("s-1", "p"))
    box.keep("s-2", "p", answer("x"))
    assert box.get("s-1", "p") is None
    assert box.is_open("s-1", "p")
    assert not box.is_open("s-2", "p")


def test_the_oldest_answers_go_and_what_is_open_stays(tmp_path: Path) -> None:
    box = answers(tmp_path, count_max=3, bytes_max=40)
    box.begin(Open("s", "open"))
    for number in range(5):
        box.keep("s", f"p-{number}", answer("x"))
    assert [box.get("s", f"p-{number}") is None for number in range(5)] == [True] * 2 + [False] * 3
    box.keep("s", "p-5", answer("x" * 30))
    assert box.get("s", "p-4") == answer("x")
    assert box.get("s", "p-3") == answer("x")
    box.keep("s", "p-6", answer("x" * 30))
    assert box.get("s", "p-5") is None
    assert box.is_open("s", "open")


def test_the_file_does_not_grow_with_what_is_forgotten(tmp_path: Path) -> None:
    box = answers(tmp_path, count_max=10)
    box.begin(Open("s", "open"))
    for number in range(300):
        box.begin(Open("s", f"p-{number}"))
        box.keep("s", f"p-{number}", answer("x" * 10_000))
    box.close()
    assert (tmp_path / "answers.jsonl").stat().st_size < 600_000
    again = answers(tmp_path, count_max=10)
    assert again.get("s", "p-299") == answer("x" * 10_000)
    assert again.open() == [Open("s", "open")]
