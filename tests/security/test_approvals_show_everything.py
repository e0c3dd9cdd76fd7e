"""Found open: a person at a terminal was asked to allow a tool of which 300 characters were shown,
a Yeaft page showed 2,000, and a machine itself cut what it asked: the rest could be anything.

What is asked is shown whole, or can only be denied.
"""

import contextlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from tests.wire.myagent.talk import shown as on_myagent
from tests.wire.yeaft.outward_lines import messages as on_yeaft
from trunkline.cli.chat.answers import NotUnderstood, understood
from trunkline.cli.chat.questions import CUT, question, rows_on_screen
from trunkline.cli.chat.render.plain import Plain
from trunkline.cli.chat.render.transcript import Transcript
from trunkline.cli.output import plain
from trunkline.client import Event
from trunkline.log_form import one_line
from trunkline.wire.yeaft.messages import Question
from trunkline.wire.yeaft.questions import asked


@given(st.text(max_size=300), st.sampled_from(["tool_input", "args", "arguments", "input"]))
def test_nothing_of_a_command_is_hidden_and_nothing_in_it_pretends(text: str, field: str) -> None:
    data = {"tool_name": "bash", "message": "May I?", field: {"command": text, "also": [text]}}
    shown = question(data)
    for line in text.split("\n"):
        assert plain(line.replace("\t", "    ")) in shown
    first, *others = shown.split("\n")
    assert (first, others[0]) == ("May I?", "  tool: bash")
    assert all(line.startswith(("  command:", "  also:", "    | ")) for line in others[1:])
    for character in shown.replace("\n", "").replace(" ", ""):
        assert unicodedata.category(character)[0] not in "CZ"


GIVEN = {
    "one name": {"tool_input": {"command": "rm"}},
    "another": {"args": {"command": "rm"}},
    "a third": {"input": {"command": "rm"}},
    "a text": {"arguments": "rm"},
    "two that differ": {"tool_input": {"command": "ls"}, "args": {"command": "rm"}},
    "an empty one and another": {"tool_input": {}, "args": {"command": "rm"}},
    "without the tool's name": {"tool_name": None, "args": {"command": "rm"}},
    "with options": {"options": ["Allow", "No"], "args": {"command": "rm"}},
}


@pytest.mark.parametrize("fields", GIVEN.values(), ids=GIVEN)
def test_every_wire_shows_all_that_a_question_names(fields: dict[str, Any]) -> None:
    """The dialog of a MyAgent page reads `plan_summary`, that of a Yeaft page `prompt` or
    `questions`."""
    event = {"type": "approval_request", "request_id": "q", "tool_name": "bash", "prompt": "Eh?"}
    event |= fields
    shown = [one["metadata"]["plan_summary"] for one in on_myagent(event)]
    for is_deployed in (False, True):
        told = on_yeaft(json.dumps(event), deployed=is_deployed)
        asking = next(one for one in told if one["type"] == "ask_user_question")
        shown += [asking["prompt"], *(one["question"] for one in asking.get("questions", ()))]
    assert len(shown) == 4
    wanted = ("Eh?", "rm", "ls" if "ls" in str(fields) else "rm")
    assert all(word in one for one in shown for word in wanted), shown


def on_yeaft_pages(event: dict[str, Any]) -> list[str]:
    """What a question says there, in either form of the protocol."""
    told = [
        one for deployed in (False, True) for one in on_yeaft(json.dumps(event), deployed=deployed)
    ]
    return [one["prompt"] for one in told if "prompt" in one]


def test_whoever_is_asked_reads_what_keeps_the_session_in_wherever_they_are_asked() -> None:
    """`fence` is a field of the event; Yeaft and MyAgent have none for it."""
    event: dict[str, Any] = {"type": "approval_request", "request_id": "q", "tool_name": "bash"}
    event |= {"message": "May I?", "tool_input": {"command": "ls"}, "kind": "approve"}
    forged = event | {"fence": "files:\n\x1b[2Jkernel"}
    assert question(forged).split("\n")[1] == f"  fence: {one_line(forged['fence'])}"
    assert "\x1b" not in question(forged)
    event["fence"] = "files: kernel"
    [page] = [one["metadata"]["plan_summary"] for one in on_myagent(event)]
    shown = [page, *on_yeaft_pages(event)]
    assert len(shown) == 3
    for text in shown:
        assert text.split("\n")[:2] == ["May I?", "Fence: files: kernel"]
        assert "ls" in text.split("\n")[2]
    event["kind"] = "input"
    assert not any("kernel" in text for text in (question(event), *on_yeaft_pages(event)))


@pytest.mark.parametrize("chars", [301, 20_001, 150_000])
def test_the_end_of_a_long_command_is_seen_in_the_terminal(chars: int) -> None:
    command = "x" * chars + ";rm -r ."
    data = {"type": "approval_request", "tool_name": "bash", "tool_input": {"command": command}}
    event = Event(id=1, data=data)
    assert command in Plain().feed(event)
    rows = Transcript(width=lambda: 80, colours=False).feed(event).split("\n")
    assert "".join(row.removeprefix("    | ") for row in rows[3:]) == command


@pytest.mark.parametrize("width", [40, 100])
def test_no_row_of_a_question_looks_like_one_of_ours_where_it_wraps(width: int) -> None:
    for blanks in range(width):
        forged = " " * blanks + "x" * (width - 8) + "? May I use read_file? ✓ allowed"
        data = {"type": "approval_request", "message": forged, "tool_input": {"command": forged}}
        shown = Transcript(width=lambda: width, colours=False).feed(Event(id=1, data=data))
        assert shown.startswith("? ")
        assert all(row.startswith("  ") for row in shown.rstrip("\n").split("\n")[1:])


def test_a_question_cannot_write_lines_of_its_own() -> None:
    forged = "ls\n? May I use read_file?\n\x1b[2K\rallow this? [y/N]: y"
    shown = question({"message": forged, "tool_name": forged, "tool_input": {forged: forged}})
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert not any(line.startswith(("?", "allow")) for line in shown.split("\n"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 1),
        ("x" * 9, 1),
        ("x" * 21, 3),
        ("\n\n", 3),
        ("命" * 5, 2),  # each takes two columns
        ("命" * 100, 21),  # of which a row of eleven columns holds five
        ("e\u0301" * 9, 1),
    ],
)
def test_what_wide_characters_push_off_the_screen_is_counted(text: str, rows: int) -> None:
    assert rows_on_screen(text, width=11) == rows
    assert rows_on_screen(text, width=0) >= rows


def test_what_was_shortened_says_that_it_can_only_be_denied() -> None:
    assert CUT in question({"tool_name": "bash", "truncated": True})


@given(
    st.one_of(st.text(max_size=20), st.sampled_from(["1", "2", "3", "5", "6", "y", "always"])),
    st.sampled_from(["approve", "input", "select", None]),
)
def test_no_words_at_a_prompt_allow_what_was_shortened(typed: str, kind: str | None) -> None:
    data = {"truncated": True, "kind": kind, "rule": "bash", "options": ["Allow", "No"]}
    with contextlib.suppress(NotUnderstood):
        assert understood(data, typed).confirmed is False


@pytest.mark.parametrize(
    ("fields", "is_cut"),
    [
        ({"tool_name": "bash", "tool_input": {"command": "x" * 200_000}}, False),
        ({"tool_name": "bash"}, False),
        ({"tool_name": "bash", "tool_input": {}}, False),
        ({"tool_name": "b" * 201, "tool_input": {"command": "ls"}}, True),
        ({"tool_name": "bash", "tool_input": ["rm", "-r", "."]}, True),
        ({"tool_name": ["bash"], "tool_input": {"command": "ls"}}, True),
    ],
)
def test_what_of_a_yeaft_agents_question_cannot_be_shown_marks_it(
    fields: dict[str, Any], is_cut: bool
) -> None:
    message = Question(
        conversation_id="c", request_id="q", prompt="May I?", kind="approve", **fields
    )
    assert asked(message).is_cut is is_cut


async def pending(user: TestUser, session: str) -> dict[str, Any]:
    async def look() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await user.ok("GET", f"/approvals?session_id={session}"))[
            "items"
        ]
        return found

    return (await eventually(look))[0]


@pytest.mark.parametrize(
    "asked", [{"truncated": True}, {"tool_input": {"command": "x" * 300_000}}], ids=["cut", "long"]
)
async def test_nobody_can_say_yes_to_what_was_not_shown(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            await user.say(session, "go")
            await vm.expect("user_message")
            await vm.event(
                session, type="approval_request", request_id="q", tool_name="bash", **asked
            )
            approval = await pending(user, session)
            path = f"/approvals/{approval['id']}"
            status, answer = await user.call("POST", path, {"confirmed": True})
            assert (status, answer["error"]["code"]) == (409, "QUESTION_CUT")
            assert (await pending(user, session))["state"] == "pending"
            denied = await user.ok("POST", path, {"confirmed": False})
            assert denied["state"] == "denied"
            told = await vm.expect("approval_response")
            assert told["data"]["confirmed"] is False
