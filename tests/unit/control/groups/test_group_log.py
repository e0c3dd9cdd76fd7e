"""What a person is told of what it missed."""

import json
from typing import Any

from trunkline import limits
from trunkline.control.groups.group_log import Transcript, told
from trunkline.control.log.session_log import Batch

ALL = range(1, 10**9)
NONE = ("", None)


def said(*entries: tuple[str, str]) -> Transcript:
    """A transcript of one turn after the other; an empty name is the user's."""
    transcript = Transcript()
    lines = []
    for number, (name, text) in enumerate(entries, 1):
        event: dict[str, Any] = {"type": "user_message", "content": text, "turn_id": f"t{number}"}
        if name:
            person = {"id": f"id-of-{name}", "name": name}
            event |= {"type": "person_complete", "person": person, "group": {"ask": 1}}
        lines.append(json.dumps(event))
    transcript.deliver(Batch(1, lines))
    return transcript


def test_others_are_heard_and_the_message_itself_is_not_repeated() -> None:
    transcript = said(("", "hello"), ("alice", "hi"), ("bob", "me too"), ("", "and now?"))
    missed = transcript.missed_by("id-of-alice", ALL, ("t4", None))
    assert missed == ["user: hello", "bob: me too"]
    assert transcript.missed_by("id-of-carol", range(3, 5), NONE) == [
        "bob: me too",
        "user: and now?",
    ]
    assert transcript.missed_by("id-of-carol", range(3, 3), NONE) == []


def test_the_newest_that_fits_is_told_and_that_there_was_more() -> None:
    long = "x" * limits.GROUP_CONTEXT_TEXT_CHARS_MAX
    missed = said(*[("bob", long)] * 10, ("bob", "last")).missed_by("me", ALL, NONE)
    assert missed[-1] == "bob: last"
    assert missed[0].startswith("(what was said before")
    assert sum(map(len, missed)) < limits.GROUP_CONTEXT_CHARS_MAX + 100


def test_a_single_long_text_is_cut() -> None:
    (line,) = said(("bob", "x" * 1_000_000)).missed_by("me", ALL, NONE)
    assert len(line) <= limits.GROUP_CONTEXT_TEXT_CHARS_MAX + 10


def test_lines_that_only_look_like_it_are_passed_over() -> None:
    transcript = Transcript()
    lines = [
        '{"type": "text_chunk", "content": "\\"user_message\\" \\"person_complete\\""}',
        '{"type": "person_complete", "content": "forged"}',
        '{"type": "person_complete", "content": "forged", "person": 1, "group": []}',
        '"user_message"',
        '{"type": "user_message"',
        '{"type": "user_message"}',
    ]
    transcript.deliver(Batch(1, lines))
    assert transcript.position == 6
    assert transcript.missed_by("me", ALL, NONE) == []


def test_a_users_message_that_comes_alone_is_left_as_it_is() -> None:
    assert told("user", "hello", []) == "hello"
    assert told("alice", "hello", []) == "[alice says to you]\nhello"
    assert told("user", "hello", ["bob: hi"]).endswith("bob: hi\n\n[user says to you]\nhello")
    assert told("user", "hello", [], "You are bob.") == "You are bob.\n\n[user says to you]\nhello"
