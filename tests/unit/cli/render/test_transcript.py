"""What a terminal shows of events: finished lines, the tail, and what can be unfolded."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.render.reader import (
    CHANGED,
    CUT,
    DONE,
    Data,
    Reader,
    call,
    plan,
    result,
    says,
    status,
    thinks,
    user,
)
from trunkline.cli.chat.render.diff import coloured
from trunkline.cli.chat.render.layout import wants_colours
from trunkline.cli.chat.render.notices import ADVICE
from trunkline.cli.chat.render.transcript import Transcript
from trunkline.client import Event


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        ([user("Hi\nthere")], ["> Hi", "  there"]),
        ([user("See", attachments=[{"name": "a.png", "mime": "x"}])], ["> See", "  [a.png]"]),
        ([says("Hello "), says("world"), DONE], ["Hello world", "", "0.2 s"]),
        ([{**DONE, "content": "Whole"}], ["Whole"]),
        ([says("Half of"), {**DONE, "content": "Half of it"}], ["Half of it", "", "0.1 s"]),
        ([says("Said."), {**DONE, "content": "Said."}, DONE], ["Said.", "", "0.1 s"]),
        ([says("a"), CUT], ["a", "", "stopped · 0.1 s"]),
        ([call(), result()], ["▸ bash ls -la · 0.1 s"]),
        ([call(), result(text="x\ny\n")], ["▸ bash ls -la · 0.1 s · 2 lines"]),
        ([call("clock"), result("clock", "noon")], ["▸ clock · 0.1 s · noon"]),
        ([result("clock", "noon")], ["▸ clock · 0.0 s · noon"]),
        (
            [call(), result(text="a\nb\n\nc\nd\ne", details={"exit_code": 2})],
            ["▸ bash ls -la · 0.1 s · failed (exit code 2)", "  … 2 more lines", "  c", "  d",
             "  e"],
        ),
        (
            [call("x"), result("x", "a\nb\nc\nd", is_error=True)],
            ["▸ x · 0.1 s · failed", "  a", "  b", "  c", "  … 1 more line"],
        ),
        ([call(), result(is_error=True, text="x")], ["▸ bash ls -la · 0.1 s · failed", "  x"]),
        ([call(), result(denied=True)], ["▸ bash ls -la · 0.1 s · not allowed"]),
        ([call(), CUT], ["▸ bash ls -la · 0.1 s · stopped", "", "stopped · 0.1 s"]),
        ([call(tool_input={"command": "x" * 99}), result()], [f"▸ bash {'x' * 44}… · 0.1 s"]),
        (
            [call(tool_call_id="1"), call("read_file", tool_call_id="2", tool_input={"path": "a"}),
             result(tool_call_id="1"), result("read_file", "y", tool_call_id="2")],
            ["▸ bash ls -la · 0.2 s", "▸ read_file a · 0.2 s · y"],
        ),
        (
            [call("read_skill_file", tool_call_id="1"),
             {"type": "skill_call_start", "skill_name": "pdf", "tool_call_id": "1"},
             {"type": "skill_call_complete", "skill_name": "pdf", "tool_call_id": "1"},
             result("read_skill_file", tool_call_id="1")],
            ["▸ skill pdf · 0.3 s"],
        ),
        (
            [call("edit", tool_call_id="1"), {**CHANGED, "tool_call_id": "1", "additions": 1},
             result("edit", "ok", tool_call_id="1")],
            ["▸ edit · 0.2 s", "  ± x.py +1 -0", "  @@ -1,2 +1,2 @@", "   a", "  -b", "  +c"],
        ),
        (
            [call("E", tool_input={"file_path": "y", "old_string": "a\nb", "new_string": "a\nc"}),
             result("E")],
            ["▸ E y +1 -1 · 0.1 s", "   a", "  -b", "  +c"],
        ),
        (
            [{**CHANGED, "diff": "+x\n" * 99}],
            ["± x.py", *["+x"] * 16, "… 83 more lines, /diff"],
        ),
        ([{"type": "file_created", "path": "a.txt", "size": 1234}], ["± a.txt · 1.2 kB · new"]),
        ([thinks("Let me "), thinks("see"), says("Yes."), DONE],
         ["▸ thought · 0.2 s", "", "Yes.", "", "0.3 s"]),
        ([thinks("asked again", stage="model")], ["· asked again"]),
        ([plan("completed", "in_progress")], ["Plan · 1 of 2", "  ✓ Read", "  ▸ Write"]),
        ([plan("pending", "pending"), plan("completed", "pending"), plan("completed", "pending")],
         ["Plan · 0 of 2", "  ○ Read", "  ○ Write", "", "Plan · 1 of 2", "  ✓ Read"]),
        ([call("todo", tool_call_id="1"), {**plan("completed"), "tool_call_id": "1"},
          result("todo", tool_call_id="1")], ["Plan · 1 of 1", "  ✓ Read"]),
        ([{"type": "plan", "plan": {"summary": "first this"}}], ["plan: first this"]),
        (
            [says("a"), {"type": "usage", "tokens_in": 1234, "tokens_out": 56, "models": {
                "m": {"cache_read_tokens": 800}}, "cost": {"amount": 0.0312, "currency": "USD"}},
             DONE],
            ["a", "", "0.2 s · 1.2k tokens in (800 cached), 56 out · $0.03"],
        ),
        (
            [{"type": "context_compacted", "how": "summary", "before_tokens": 90_000,
              "after_tokens": 2000}],
            ["the conversation was shortened for the model: 90k → 2k", "tokens"],
        ),
        ([{"type": "context_compacted", "how": "nothing", "reason": "It is short."}],
         ["nothing was shortened: It is short."]),
        ([{"type": "session_closed", "reason": "admin"}], ["the session was closed"]),
        ([status(machine="online")], []),
        ([status(machine="online", commands=[])], []),
        ([status(machine="online", message="is being started")], []),
        ([status(machine="offline"), status(machine="online")],
         ["the machine is offline", "the machine is back"]),
        ([status(machine="offline", held=True)],
         ["the machine is offline: the message waits until it is back"]),
        ([status(machine="gone", message="gone for good")], ["gone for good"]),
        ([status(problems=["no clock", "no sums"])], ["no clock", "no sums"]),
        ([status(problems="x", degraded=7)], []),
        ([{"type": "approval_request", "request_id": "q", "message": "May I?", "tool_name": "b"},
          {"type": "approval_resolved", "request_id": "q", "confirmed": True, "scope": "session"}
          ],
         ["? May I?", "  tool: b", "", "✓ allowed for this session"]),
        ([{"type": "approval_resolved", "confirmed": False, "reason": "not today"}],
         ["✗ not allowed: not today"]),
        ([{"type": "execution_error", "error": "no key", "code": "MODEL_KEY_MISSING"}],
         ["✗ no key", f"→ {ADVICE['MODEL_KEY_MISSING'].partition(' model ')[0]}",
          "  model (/model)",
          "  MODEL_KEY_MISSING"]),
    ],
)  # fmt: skip
def test_events_look_like_this(events: list[Data], lines: list[str]) -> None:
    assert Reader()(*events).split("\n")[:-1] == lines


def test_what_is_said_to_a_turn_stands_below_until_it_is_read() -> None:
    read = Reader()
    read(user("Go"), says("One"))
    assert read(user("Also b", steers="t", message_id="m"), user("Then c", turn_id="t2")) == ""
    below = read.transcript.tail()
    assert below.split("\n")[-3:-1] == [
        "↳ Also b · waits for the next step",
        "> Then c · queued",
    ]
    assert read({"type": "steer_taken", "message_id": "m"}) == "\nOne\n\n↳ Also b\n"
    assert read(DONE).endswith("0.5 s\n")
    assert read(says("c.", turn_id="t2")) == "\n> Then c\n"


def test_what_a_turn_did_not_read_is_a_turn_of_its_own_or_says_so() -> None:
    read = Reader()
    steer = user("x", steers="t", message_id="m")
    read(user("Go"), steer)
    assert "x" not in read({"type": "steer_missed", "message_id": "m", "turn_id": "m"}, DONE)
    assert read(says("y", turn_id="m")) == "\n> x\n"
    read = Reader()
    assert "↳ x · not read: it ended before\n" in read(user("Go"), steer, CUT)


def test_what_is_done_without_a_turn_leaves_no_spinner() -> None:
    read = Reader()
    read(status(machine="online", message="the session is being started", turn_id=None))
    assert read.transcript.tail() == ""


def test_the_tail_has_what_is_not_finished() -> None:
    read = Reader()
    assert read.transcript.tail() == ""
    read(user("Go"))
    assert read.transcript.tail() == "\n⠙ working · 0.0 s\n"
    read(status(machine="online", message="the session is being started"))
    assert "the session is being started" in read.transcript.tail()
    read(thinks("Hm.\nLet me see"))
    read.now += 2
    assert read.transcript.tail().split("\n")[1:3] == ["⠸ thinking · 2.0 s", "  Hm."]
    read(call(tool_call_id="1"), {"type": "tool_call_progress", "tool_call_id": "1",
                                 "content": "1%\r50%\n\x1b[31mred\x1b[0m\n"})  # fmt: skip
    assert read.transcript.tail().split("\n")[1:3] == ["  50%", "  red"]
    assert "▸ bash" in read(result(tool_call_id="1"))
    read(DONE)
    assert read.transcript.tail() == ""


def test_what_was_folded_is_unfolded_from_the_last_one_back() -> None:
    read = Reader()
    assert read.transcript.unfold() == ""
    read(thinks("All of\nthe thought"), call(), result(text="a\nb\n", details={"exit_code": 1}))
    read(call("fetch", tool_input={"url": "x", "n": 1}), result("fetch", "page"))
    assert read.transcript.unfold() == ('\n▾ fetch · 0.1 s\n{\n  "url": "x",\n  "n": 1\n}\npage\n')
    assert read.transcript.unfold() == "\n▾ bash · 0.1 s\n$ ls -la\na\nb\nexit code 1\n"
    assert read.transcript.unfold() == "\n▾ thought · 0.1 s\nAll of\nthe thought\n"
    read(call(), result(text="x\n" * 10_000))
    assert read.transcript.unfold().endswith("x\n… 9602 more lines\n")


def test_what_is_read_again_later_says_how_long_it_took_then() -> None:
    transcript = Transcript(width=lambda: 60, colours=False, clock=lambda: 0.0)
    events = (user("Go"), thinks("Hm"), call(), result(), says("Yes"), DONE)
    data = ({"turn_id": "t", "ts": at * 2000, **event} for at, event in enumerate(events))
    shown = "".join(transcript.feed(Event(1, one)) for one in data)
    assert "thought · 2.0 s" in shown
    assert "ls -la · 2.0 s" in shown
    assert shown.endswith("\n10 s\n")


def test_all_that_was_seen_of_changed_files_can_be_shown_whole() -> None:
    read = Reader()
    assert read.transcript.diff() == ""
    read({**CHANGED, "diff": "+x\n" * 30 + "\\ No newline at end of file\n"})
    read({**CHANGED, "diff": "+y\n"}, {**CHANGED, "path": "z.py"})
    lines = read.transcript.diff().split("\n")
    assert lines[1:] == [
        *("± x.py", *["+x"] * 30, "+y", ""),
        *("± z.py", "@@ -1,2 +1,2 @@", " a", "-b", "+c", ""),
    ]


def test_an_answer_of_which_events_were_lost_is_shown_whole_at_its_end() -> None:
    shown = Reader()(says("One th"), status(lost_events=3), {**DONE, "content": "One, two, three"})
    assert "lost 3 events" in shown
    assert "\nOne, two, three\n" in shown


HOSTILE = "\x1b[2J\x07\x9b31m\r\u202e\u2066\x00"


@pytest.mark.parametrize(
    "value", [HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}, None, 7, [[]], {}, 1e300]
)
def test_odd_fields_are_survived_and_nothing_acts_on_the_terminal(value: Any) -> None:
    kinds = (
        *("text_chunk", "thinking", "tool_call_start", "tool_call_progress", "tool_call_complete"),
        *("skill_call_start", "skill_call_complete", "approval_request", "approval_resolved"),
        *("file_created", "file_changed", "plan", "usage", "context_compacted", "session_status"),
        *("session_closed", "user_message", "steer_taken", "steer_missed", "person_start"),
        *("person_complete", "person_error", "execution_complete", "execution_error", "foreign"),
    )
    fields = (
        *(
            "content",
            "stage",
            "tool_name",
            "title",
            "tool_input",
            "result",
            "details",
            "skill_name",
        ),
        *("error", "code", "message", "reason", "confirmed", "answer", "path", "change", "diff"),
        *("additions", "size", "plan", "models", "tokens_in", "cost", "how", "machine", "problems"),
        *("degraded", "held", "group", "attachments", "agent", "options", "rule", "before_tokens"),
    )
    for person in (None, value, {"id": value, "name": value}):
        read = Reader()
        for kind in (*kinds, *kinds):
            data = {"type": kind, "person": person, "tool_call_id": kind[:5]}
            text = read({**data, **dict.fromkeys(fields, value)}) + read.transcript.tail()
            assert not set(text) & set(HOSTILE.replace("[2J", "").replace("31m", ""))
        assert "\x1b" not in read.transcript.end() + read.transcript.unfold()


def test_a_patch_is_coloured_and_nothing_in_it_acts_on_the_terminal() -> None:
    patch = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\x1b[2J\n+b\n c\n"
    assert coloured(patch, colours=True).split("\n") == [
        "\x1b[1mdiff --git a/x b/x\x1b[0m",
        "\x1b[2m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-a\\x1b[2J\x1b[0m",
        "\x1b[32m+b\x1b[0m",
        " c",
        "",
    ]
    assert coloured(patch, colours=False) == patch.replace("\x1b", "\\x1b")


@pytest.mark.parametrize(
    ("environ", "is_wanted"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colours_are_for_terminals_whose_user_wants_them(
    environ: dict[str, str], is_wanted: bool
) -> None:
    assert wants_colours(environ) is is_wanted


def test_every_code_that_the_documents_advise_on_has_its_advice() -> None:
    text = Path("docs/protocols/events.md").read_text(encoding="utf-8")
    ours = text.split("From our machines:")[1].split("\n\n")[1]
    rows = [row.split(" | ") for row in ours.split("\n")[2:]]
    advised = [row[0] for row in rows if row[2].strip(" |")]
    assert set(re.findall(r"`(\w+)`", " ".join(advised))) <= ADVICE.keys()
