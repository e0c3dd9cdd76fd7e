"""Lines of the program become the same events as those of every other runtime."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.execution.runtimes.claude_code.golden import FOLDER, events_of
from trunkline import limits
from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.translator import (
    TOOLS_REMEMBERED_MAX,
    Translator,
    commands_of,
)

RECORDED = sorted(FOLDER.glob("*.jsonl"))


def said(translator: Translator, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    line = output.read(json.dumps(fields).encode())
    assert line is not None
    return translator.events(line)


def assistant(*blocks: Any, **fields: Any) -> dict[str, Any]:
    message = {"id": "m1", "role": "assistant", "model": "claude", "content": list(blocks)}
    return {"type": "assistant", "message": message, **fields}


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_what_the_real_program_printed_means_what_it_meant(recorded: Path) -> None:
    expected = json.loads(recorded.with_suffix(".events.json").read_text())
    assert events_of(recorded.read_text().splitlines()) == expected


def test_there_are_recordings() -> None:
    assert len(RECORDED) >= 8


def test_words_that_came_in_pieces_are_not_said_again_as_a_whole() -> None:
    translator = Translator()
    said(translator, type="stream_event", event={"type": "message_start", "message": {"id": "m1"}})
    said(translator, type="stream_event", event={"type": "content_block_start", "index": 0})
    for piece in ("Hel", "lo"):
        delta = {"type": "text_delta", "text": piece}
        event = {"type": "content_block_delta", "index": 0, "delta": delta}
        assert said(translator, type="stream_event", event=event) == [
            ("text_chunk", {"content": piece})
        ]
    whole = assistant({"type": "text", "text": "Hello there"})
    assert said(translator, **whole) == [("text_chunk", {"content": " there"})]


def test_words_that_only_came_whole_are_said() -> None:
    whole = assistant({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes"})
    assert said(Translator(), **whole) == [
        ("thinking", {"content": "hm", "stage": "reasoning"}),
        ("text_chunk", {"content": "Yes"}),
    ]


def test_a_sub_agent_that_is_not_named_is_called_what_its_task_called_it() -> None:
    translator = Translator()
    call = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"subagent_type": "scout"}}
    said(translator, **assistant(call))
    [(_, fields)] = said(
        translator, **assistant({"type": "text", "text": "Hi"}, parent_tool_use_id="t1")
    )
    assert fields["agent"] == "scout"


def test_a_whole_list_of_things_to_do_is_a_plan() -> None:
    translator = Translator()
    todos = [{"content": "Bake", "status": "in_progress"}, {"content": "Eat"}, "odd"]
    call = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": todos}}
    said(translator, **assistant(call))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    *_, (kind, fields) = said(translator, type="user", message={"content": [result]})
    assert kind == "plan"
    assert fields["content"] == "[>] Bake\n[ ] Eat"


def test_what_failed_changes_no_plan_and_makes_no_file() -> None:
    translator = Translator()
    said(translator, **assistant({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {}}))
    result = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    beside = {"type": "create", "filePath": "a", "content": "x"}
    made = said(translator, type="user", message={"content": [result]}, tool_use_result=beside)
    assert [kind for kind, _ in made] == ["tool_call_complete"]


def test_a_tools_pictures_are_named_and_its_long_output_is_cut() -> None:
    content = [
        {"type": "text", "text": "x" * 100_000},
        {"type": "image", "source": {"data": "A" * 1000}},
    ]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    [(_, fields)] = said(Translator(), type="user", message={"content": [result]})
    assert len(fields["result"]) < limits.TOOL_RESULT_CHARS_MAX + 100
    assert fields["result"].endswith("[image]")


def test_what_the_provider_refused_is_no_answer() -> None:
    translator = Translator()
    text = {"type": "text", "text": "Invalid API key"}
    failed = assistant(text, is_api_error_message=True, error="authentication_failed")
    assert said(translator, **failed) == []
    assert translator.error == "authentication_failed"


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, [None], ["x"], {"a": {}}, "x" * 100_000])
@pytest.mark.parametrize(
    "kind", ["assistant", "user", "system", "stream_event", "result", "tool_progress", "new"]
)
def test_odd_values_are_passed_over(kind: str, odd: Any) -> None:
    translator = Translator()
    for field in ("message", "event", "subtype", "session_id", "parent_tool_use_id", "error"):
        said(translator, type=kind, **{field: odd})
    for block in ("text", "thinking", "tool_use", "tool_result", odd):
        content = [{"type": block, "text": odd, "id": odd, "name": odd, "input": odd}, odd]
        said(translator, type=kind, message={"id": odd, "model": odd, "content": content})
    for event in ("message_start", "content_block_start", "content_block_delta"):
        said(translator, type=kind, event={"type": event, "message": odd, "delta": odd})
    for subtype in ("init", "api_retry", "compact_boundary", "task_started"):
        said(translator, type=kind, subtype=subtype, model=odd, cwd=odd, error_status=odd)
    assert len(translator.session_id) <= limits.ID_CHARS_MAX


def test_calls_without_end_are_forgotten_in_time() -> None:
    translator = Translator()
    for number in range(TOOLS_REMEMBERED_MAX + 1):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        said(translator, **assistant(call))
    result = {"type": "tool_result", "tool_use_id": "t0", "content": ""}
    [(_, fields)] = said(translator, type="user", message={"content": [result]})
    assert fields["tool_name"] == "tool"


@pytest.mark.parametrize("odd", [None, "x", [None, 3, {}, {"name": 7}, {"name": "/"}]])
def test_odd_commands_are_none(odd: Any) -> None:
    assert commands_of(odd) == []


def test_commands_are_named_without_their_slash() -> None:
    given = [{"name": "/wave", "description": "d" * 5_000}, {"name": "x" * 1_000}] * 600
    told = commands_of(given)
    assert len(told) <= 500
    assert told[0]["name"] == "wave"
    assert len(told[0]["description"]) <= 1_000


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b'{"type": 7}', b"\xff", b"[" * 100_000])
def test_what_is_no_line_is_none(text: bytes) -> None:
    assert output.read(text) is None


def test_a_line_with_half_of_a_character_is_read() -> None:
    line = output.read(b'{"type":"assistant","message":{"content":"a\\ud83d"}}')
    assert line is not None
    [(_, fields)] = Translator().events(line)
    fields["content"].encode()


@pytest.mark.parametrize(
    "odd", [b'"\\ud83d"', b"NaN", b'["\\udc00 x", Infinity]', b'"\xed\xa0\x80"']
)
def test_what_travels_of_such_a_line_can_be_read_by_everybody(odd: bytes) -> None:
    line = b'{"type":"assistant","odd":%s}' % odd
    assert output.read(line) is not None
    assert msgspec.json.decode(output.passable(line))["type"] == "assistant"


def test_a_line_that_everybody_can_read_travels_unchanged() -> None:
    line = b'{ "type":"x", "text": "\\ud83d\\ude00",  "n": 1.50 }'
    assert output.passable(line) == line
