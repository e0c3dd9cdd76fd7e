"""The fold: what each entry of a session's log changes, in its state and in the records."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.control.log import events
from trunkline.control.sessions import notes, state
from trunkline.control.sessions.state import NAME_CHARS_MAX, Question, SessionState, Turn, fold

Entry = str | notes.Note


def event(kind: str, **fields: Any) -> str:
    return events.make(kind, 1, **fields)


def said(turn_id: str, content: str = "hello", **fields: Any) -> str:
    return event("user_message", turn_id=turn_id, content=content, **fields)


def take(folded: SessionState, *entries: Entry) -> list[state.Change]:
    """The changes of them all."""
    changes: list[state.Change] = []
    for entry in entries:
        if isinstance(entry, str):
            changes += fold(folded, entry, is_note=False)
        else:
            changes += fold(folded, notes.encode(entry), is_note=True)
    return changes


def after(*entries: Entry) -> SessionState:
    folded = SessionState("m")
    take(folded, *entries)
    return folded


OPEN: tuple[Entry, ...] = (said("t1"), notes.Told("t1"), said("t2"), notes.Told("t2"))
ASKED = event("approval_request", request_id="q", turn_id="t1", tool="rm")
RESOLVED = event("approval_resolved", request_id="q", confirmed=True)


def test_a_message_opens_a_turn() -> None:
    folded = SessionState("m")
    assert take(folded, said("t1", "hi", client_message_id="c1")) == [
        state.TurnOpened("t1", "hi", "c1")
    ]
    assert folded == SessionState("m", turns={"t1": Turn("t1")}, names={"c1": "t1"})


@pytest.mark.parametrize("line", [said("t1", "other words"), event("user_message", content="hi")])
def test_a_message_without_a_turn_of_its_own_opens_none(line: str) -> None:
    folded = after(said("t1"))
    before = folded.encode()
    assert take(folded, line) == []
    assert folded.encode() == before


@pytest.mark.parametrize(
    ("line", "outcome", "answer"),
    [
        (event("execution_complete", turn_id="t1", final_response="done"), "completed", "done"),
        (event("execution_complete", turn_id="t1", content="done"), "completed", "done"),
        (event("execution_complete", turn_id="t1", cancelled=True), "cancelled", None),
        (event("execution_error", turn_id="t1", error="no", code="X"), "failed", None),
        (event("execution_error", turn_id="t1", cancelled=True), "cancelled", None),
        (event("execution_complete", turn_id="t1", request_id=7), "completed", None),
        (event("execution_complete", turn_id="t1", final_response={"a": 1}), "completed", None),
        ('{"type":"execution_complete","turn_id":"t1","cancelled":null}', "completed", None),
    ],
)
def test_a_terminal_event_ends_its_turn(line: str, outcome: str, answer: str | None) -> None:
    folded = after(*OPEN)
    assert take(folded, line) == [state.TurnEnded("t1", outcome, answer)]
    assert (list(folded.turns), list(folded.ended)) == (["t2"], ["t1"])


def test_an_end_is_that_of_the_turn_it_names() -> None:
    folded = after(*OPEN, event("execution_complete", turn_id="t2"))
    assert list(folded.turns) == ["t1"]


@pytest.mark.parametrize("name", [None, 7, "an id of its own"])
def test_an_end_without_a_name_of_ours_is_that_of_the_oldest_turn_that_was_told(
    name: Any,
) -> None:
    folded = after(said("waits"), *OPEN)
    line = event("execution_complete", turn_id=name)
    ended = [take(folded, line) for _ in range(3)]
    assert ended == [
        [state.TurnEnded("t1", "completed", None)],
        [state.TurnEnded("t2", "completed", None)],
        [],
    ]
    assert list(folded.turns) == ["waits"]


def test_an_end_that_comes_again_changes_nothing() -> None:
    end = event("execution_complete", turn_id="t1")
    folded = after(said("t1"), notes.Told("t1"), end)
    before = folded.encode()
    assert take(folded, end) == []
    assert folded.encode() == before


def test_a_turn_that_has_its_end_is_not_told_again() -> None:
    folded = after(*OPEN, event("execution_complete", turn_id="t1"))
    assert take(folded, notes.Told("t1"), notes.Untold("t1")) == []
    assert [turn.id for turn in folded.told] == ["t2"]


def test_a_late_terminal_event_is_expected_until_it_is_settled() -> None:
    folded = after(*OPEN, event("execution_error", turn_id="t1"), notes.Late("t1"))
    assert list(folded.late) == ["t1"]
    assert take(folded, notes.Settled("t1"), notes.Settled("t1")) == []
    assert not folded.late


@pytest.mark.parametrize(("settles", "late"), [(True, []), (False, ["t1"])])
def test_a_new_message_settles_late_ends_where_ends_have_no_names(
    settles: bool, late: list[str]
) -> None:
    end = event("execution_error", turn_id="t1")
    folded = after(*OPEN, end, notes.Late("t1"), said("t3"), notes.Told("t3", settles=settles))
    assert list(folded.late) == late


def test_what_a_message_has_besides_its_text_is_a_note() -> None:
    folded = after(said("t1"))
    before = folded.encode()
    assert take(folded, notes.Said("t1", {"a": 1})) == [state.TurnNoted("t1", {"a": 1})]
    assert folded.encode() == before


def test_a_turn_is_told_heard_and_untold() -> None:
    folded = after(said("t1"), said("t2"))
    assert take(folded, notes.Told("t1")) == [state.TurnTold("t1", is_told=True)]
    assert take(folded, notes.Heard()) == []
    assert list(folded.turns.values()) == [Turn("t1", is_told=True, is_heard=True), Turn("t2")]
    assert take(folded, notes.Untold("t1")) == [state.TurnTold("t1", is_told=False)]
    assert [turn.id for turn in folded.queued] == ["t1", "t2"]
    assert not folded.turns["t1"].is_heard
    take(folded, notes.Told("t1"), notes.Heard(), notes.Told("t1"))
    assert not folded.turns["t1"].is_heard  # told once more, nothing heard since
    assert folded.turns["t1"].was_told
    take(folded, notes.Untold("t1"), notes.Moved("m2"))
    assert not folded.turns["t1"].was_told  # another machine never had it


def test_a_cancel_is_of_the_turns_that_were_told_and_the_first_reason_stays() -> None:
    folded = after(said("t1"), notes.Told("t1"), said("t2"))
    assert take(folded, notes.Cancelling("first"), notes.Cancelling("second")) == []
    assert [turn.cancel for turn in folded.turns.values()] == ["first", None]


def test_a_question_is_asked_and_resolved() -> None:
    folded = after(*OPEN)
    request = {"type": "approval_request", "ts": 1, "request_id": "q", "turn_id": "t1"}
    assert take(folded, ASKED) == [state.Asked("q", {**request, "tool": "rm"})]
    assert folded.questions == {"q": Question("t1")}
    assert take(folded, RESOLVED) == [state.Resolved("q", is_confirmed=True)]
    assert folded.questions == {"q": Question("t1", "confirmed")}
    assert take(folded, event("approval_resolved", request_id="q", confirmed=False)) == []
    assert folded.questions["q"].state == "confirmed"


@pytest.mark.parametrize("confirmed", [False, None])
def test_what_is_not_confirmed_is_denied(confirmed: bool | None) -> None:
    folded = after(ASKED, event("approval_resolved", approval_id="q", confirmed=confirmed))
    assert folded.questions["q"].state == "denied"


@pytest.mark.parametrize("before", [[], [RESOLVED]])
def test_a_question_that_is_asked_again_is_the_same_question(before: list[str]) -> None:
    folded = after(*OPEN, ASKED, *before)
    kept = folded.encode()
    assert take(folded, ASKED) == []
    assert folded.encode() == kept


@pytest.mark.parametrize(
    "line",
    [
        event("approval_request"),
        event("approval_request", request_id=7),
        event("approval_request", request_id="x" * (NAME_CHARS_MAX + 1)),
        '{"type":"approval_request","request_id":"q","deep":' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_a_question_that_cannot_be_answered_is_none(line: str) -> None:
    folded = after(*OPEN)
    assert take(folded, line) == []
    assert not folded.questions


@pytest.mark.parametrize("line", [RESOLVED, event("approval_resolved", confirmed=True)])
def test_an_answer_to_nothing_changes_nothing(line: str) -> None:
    folded = after(*OPEN)
    assert take(folded, line, notes.Answered("q", "yes", "ann")) == []


def test_an_answer_from_here_has_to_reach_the_machine_until_the_turn_ends() -> None:
    folded = after(*OPEN, ASKED, RESOLVED)
    assert take(folded, notes.Answered("q", {"a": 1}, "ann")) == [
        state.AnswerNoted("q", {"a": 1}, "ann")
    ]
    assert folded.questions["q"] == Question("t1", "confirmed", {"a": 1}, True)
    take(folded, event("execution_complete", turn_id="t2"))
    assert folded.questions["q"].is_from_here
    take(folded, event("execution_complete", turn_id="t1"))
    assert not folded.questions["q"].is_from_here


def test_a_close_counts_until_the_machine_is_told() -> None:
    folded = after(*OPEN)
    assert take(folded, event("session_closed")) == [state.SessionClosed()]
    assert (folded.is_closed, folded.is_stop_pending) == (True, True)
    assert take(folded, ASKED) == []  # one of its last words
    assert take(folded, notes.Stopped()) == [state.SessionSettled()]
    assert (folded.is_closed, folded.is_stop_pending) == (True, False)


@pytest.mark.parametrize(
    ("entries", "is_started", "is_seen"),
    [
        ([notes.Heard()], False, False),
        ([notes.Started()], True, False),
        ([notes.Started(), notes.Heard()], True, True),
        ([notes.Started(), notes.Heard(), notes.Started()], True, False),
        ([notes.Started(), notes.Heard(), notes.Absent()], False, False),
        ([notes.Started(), notes.Heard(), notes.Moved("other")], False, False),
    ],
)
def test_where_a_session_runs(entries: list[Entry], is_started: bool, is_seen: bool) -> None:
    folded = after(*entries)
    assert (folded.is_started, folded.is_seen) == (is_started, is_seen)


def test_a_session_that_moves_keeps_what_was_said_for_the_other_machine() -> None:
    folded = after(*OPEN, event("execution_error", turn_id="t1"), notes.Late("t1"), notes.Heard())
    assert take(folded, notes.Moved("other")) == [state.SessionMoved("other")]
    assert folded.machine_id == "other"
    assert not folded.late
    assert list(folded.turns.values()) == [Turn("t2")]


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        event("text_chunk", content='say "execution_complete"'),
        event("tool_call", name="execution_complete"),
        event("session_status", machine="online"),
    ],
)
def test_other_events_change_nothing(line: str) -> None:
    folded = after(*OPEN)
    before = folded.encode()
    assert take(folded, line) == []
    assert folded.encode() == before


def test_only_the_newest_of_what_is_over_is_kept() -> None:
    folded = SessionState("m")
    for number in range(201):
        turn = f"t{number}"
        take(folded, said(turn, client_message_id=f"c{number}"), notes.Told(turn))
        take(folded, event("execution_complete", turn_id=turn))
        take(folded, event("approval_request", request_id=f"q{number}"))
        take(folded, event("approval_resolved", request_id=f"q{number}", confirmed=True))
    assert ("t0" in folded.ended, "t1" in folded.ended, len(folded.ended)) == (False, True, 200)
    assert ("c0" in folded.names, "c1" in folded.names, len(folded.names)) == (False, True, 200)
    assert ("q100" in folded.questions, "q101" in folded.questions) == (False, True)
    assert len(folded.questions) == 100


def test_what_waits_for_an_answer_is_kept_however_old() -> None:
    folded = after(event("approval_request", request_id="old"))
    for number in range(150):
        take(folded, event("approval_request", request_id=f"q{number}"))
        take(folded, event("approval_resolved", request_id=f"q{number}", confirmed=False))
    assert folded.questions["old"] == Question(None)


_IDS = st.sampled_from(["t1", "t2", "t3"])
_NAMES = st.sampled_from([None, "t1", "t2", "t3", "elsewhere"])
_QUESTIONS = st.sampled_from(["q1", "q2"])
_ENTRIES = st.one_of(
    st.builds(lambda turn: said(turn, client_message_id=f"c-{turn}"), _IDS),
    st.builds(
        lambda kind, turn, cancelled: event(kind, turn_id=turn, cancelled=cancelled),
        st.sampled_from(["execution_complete", "execution_error"]),
        _NAMES,
        st.booleans(),
    ),
    st.builds(
        lambda q, turn: event("approval_request", request_id=q, turn_id=turn), _QUESTIONS, _NAMES
    ),
    st.builds(
        lambda q, yes: event("approval_resolved", request_id=q, confirmed=yes),
        _QUESTIONS,
        st.booleans(),
    ),
    st.just(event("session_closed")),
    st.builds(notes.Said, _IDS, st.just({"a": 1})),
    st.builds(notes.Told, _IDS, st.booleans()),
    st.builds(notes.Untold, _IDS),
    st.builds(notes.Late, _IDS),
    st.builds(notes.Settled, _IDS),
    st.builds(notes.Cancelling, st.just("stop")),
    st.builds(notes.Answered, _QUESTIONS, st.just({"a": [1, None]}), st.just("ann")),
    st.builds(notes.Moved, st.sampled_from(["m", "other"])),
    st.sampled_from([notes.Heard(), notes.Started(), notes.Absent(), notes.Stopped()]),
)


@given(st.lists(_ENTRIES, max_size=40), st.integers(min_value=0, max_value=40))
def test_a_state_that_was_saved_and_loaded_folds_on_as_if_it_had_not_been(
    entries: list[Entry], cut: int
) -> None:
    kept = SessionState("m")
    changes = take(kept, *entries)
    first = SessionState("m")
    before = take(first, *entries[:cut])
    loaded = state.decode(first.encode())
    assert loaded == first
    assert before + take(loaded, *entries[cut:]) == changes
    assert loaded.encode() == kept.encode()


@given(st.lists(_ENTRIES, max_size=40))
def test_a_turn_is_ended_once_and_told_only_while_it_is_open(
    entries: list[Entry],
) -> None:
    opened: set[str] = set()
    for change in take(SessionState("m"), *entries):
        match change:
            case state.TurnOpened():
                assert change.turn_id not in opened
                opened.add(change.turn_id)
            case state.TurnEnded():
                opened.remove(change.turn_id)
            case state.TurnTold():
                assert change.turn_id in opened


@pytest.mark.parametrize(
    "note",
    [
        notes.Said("t", {"a": [1]}),
        notes.Told("t", settles=False),
        notes.Heard(),
        notes.Untold("t"),
        notes.Cancelling("stop"),
        notes.Late("t"),
        notes.Settled("t"),
        notes.Answered("q", {"a": 1}, "ann"),
        notes.Started(),
        notes.Absent(),
        notes.Moved("m"),
        notes.Stopped(),
    ],
)
def test_notes_are_read_as_they_were_written(note: notes.Note) -> None:
    assert notes.decode(notes.encode(note)) == note


def test_notes_on_disk_have_the_form_that_older_versions_wrote() -> None:
    """Golden lines: what is on disk must stay readable."""
    written: list[tuple[notes.Note, str]] = [
        (notes.Told("t"), '{"type":"told","turn_id":"t","settles":true}'),
        (notes.Heard(), '{"type":"heard"}'),
        (
            notes.Answered("q", "yes", "ann"),
            '{"type":"answered","request_id":"q","answer":"yes","by":"ann"}',
        ),
        (notes.Moved("m"), '{"type":"moved","machine_id":"m"}'),
    ]
    assert [notes.encode(note) for note, _ in written] == [text for _, text in written]


def test_a_state_of_an_older_version_that_lacks_fields_is_read() -> None:
    assert state.decode(msgspec.json.encode({"machine_id": "m"})) == SessionState("m")
