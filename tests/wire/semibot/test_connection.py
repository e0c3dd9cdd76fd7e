"""The line's states without a socket: connected → authenticated → live → closed."""

import contextlib
import json
from typing import Any

import pytest

from trunkline.wire.errors import CloseLine, Malformed
from trunkline.wire.semibot.codec import Unknown
from trunkline.wire.semibot.connection import Connection, State
from trunkline.wire.semibot.messages import Auth, Heartbeat, SseEvent

AUTH = '{"type":"auth","token":"jwt"}'


def _connection(per_minute: int = 1000, early_max: int = 64) -> Connection:
    return Connection(per_minute=per_minute, early_max=early_max)


def _event(content: str) -> str:
    return json.dumps({"type": "sse_event", "session_id": "s", "data": content})


def _live(**options: Any) -> Connection:
    connection = _connection(**options)
    connection.receive(AUTH, 0.0)
    connection.authenticated()
    assert list(connection.live()) == []
    return connection


@pytest.mark.proves("000-2-auth-then-init")
def test_a_line_goes_from_connected_over_authenticated_to_live_and_closed() -> None:
    connection = _connection()
    states = [connection.state]
    assert connection.receive(AUTH, 0.0) == Auth(token="jwt")
    states.append(connection.state)  # the same until somebody has checked the token
    connection.authenticated()
    states.append(connection.state)
    assert list(connection.live()) == []
    states.append(connection.state)
    assert connection.receive(_event("x"), 0.1) == SseEvent(session_id="s", data="x")
    connection.closed()
    states.append(connection.state)
    assert connection.receive(_event("late"), 0.2) is None
    assert states == [
        State.CONNECTED,
        State.CONNECTED,
        State.AUTHENTICATED,
        State.LIVE,
        State.CLOSED,
    ]


@pytest.mark.proves("000-9-first-frame-must-be-auth", "000-8-close-4001")
@pytest.mark.parametrize(
    "first",
    [
        '{"type":"heartbeat"}',
        '{"type":"resume","pending_ids":[]}',
        _event("x"),
        '{"type":"hello"}',
        '{"type":"auth"}',
        '{"type":"auth","token":null}',
        "not json",
        "",
        b"\xff",
        "[" * 100_000,
    ],
)
def test_a_first_frame_that_is_no_auth_ends_the_line_with_4001(first: str | bytes) -> None:
    connection = _connection()
    with pytest.raises(CloseLine) as caught:
        connection.receive(first, 0.0)
    assert caught.value.code == 4001
    assert connection.auth is None


def test_what_comes_before_the_verdict_waits_and_is_handed_out_in_order() -> None:
    connection = _connection()
    connection.receive(AUTH, 0.0)
    assert connection.receive('{"type":"heartbeat","active_sessions":[]}', 0.0) is None
    assert connection.receive(_event("1"), 0.0) is None
    connection.authenticated()
    assert connection.receive('{"type":"later"}', 0.0) is None
    assert connection.receive(_event("2"), 0.0) is None
    assert list(connection.live()) == [
        Heartbeat(active_sessions=[]),
        SseEvent(session_id="s", data="1"),
        Unknown(type="later"),
        SseEvent(session_id="s", data="2"),
    ]


def test_a_malformed_frame_behind_auth_is_skipped_like_any_other() -> None:
    connection = _connection()
    connection.receive(AUTH, 0.0)
    with pytest.raises(Malformed):
        connection.receive("{", 0.0)
    assert connection.receive(_event("1"), 0.0) is None
    connection.authenticated()
    assert list(connection.live()) == [SseEvent(session_id="s", data="1")]


def test_too_many_frames_before_the_verdict_end_the_line() -> None:
    connection = _connection(early_max=3)
    connection.receive(AUTH, 0.0)
    for number in range(3):
        assert connection.receive(_event(str(number)), 0.0) is None
    with pytest.raises(CloseLine) as caught:
        connection.receive(_event("one too many"), 0.0)
    assert caught.value.code == 4001


@pytest.mark.parametrize("before", [[], [AUTH], [AUTH, _event("1")]])
@pytest.mark.parametrize("late", ["{", AUTH, _event("2"), b"\xff"])
def test_nothing_that_comes_on_a_closed_line_is_looked_at(
    before: list[str], late: str | bytes
) -> None:
    connection = _connection(early_max=1)
    for text in before:
        connection.receive(text, 0.0)
    connection.closed()
    for _ in range(3):
        assert connection.receive(late, 0.0) is None
    assert connection.state is State.CLOSED


def test_a_live_line_outlives_malformed_and_unknown_messages() -> None:
    connection = _live()
    with pytest.raises(Malformed):
        connection.receive("{", 1.0)
    assert connection.receive('{"type":"new"}', 1.0) == Unknown(type="new")
    assert connection.receive(_event("x"), 1.0) == SseEvent(session_id="s", data="x")
    assert connection.state is State.LIVE


@pytest.mark.parametrize(
    ("named", "in_force"),
    [
        ([], set()),
        (["seq"], {"seq"}),
        (["batch"], {"batch"}),
        (["batch", "seq", "seq", "future", ""], {"seq", "batch"}),
        (["SEQ"], set()),
        ([1, None], set()),
        ("seq", set()),
        ({"seq": True}, set()),
        (None, set()),
    ],
)
def test_a_capability_is_in_force_only_if_the_machine_named_it(
    named: Any, in_force: set[str]
) -> None:
    connection = _connection()
    connection.receive(json.dumps({"type": "auth", "token": "t", "capabilities": named}), 0.0)
    assert connection.capabilities == frozenset()
    assert connection.authenticated() == in_force
    assert connection.capabilities == in_force


@pytest.mark.proves("000-9-rate-1000-a-minute", "000-8-close-4029")
def test_a_thousand_messages_in_a_minute_pass_and_the_next_ends_the_line_with_4029() -> None:
    connection = _live(per_minute=1000)  # its auth was the first message
    for number in range(999):
        assert connection.receive(_event(str(number)), number * 0.06) is not None
    with pytest.raises(CloseLine) as caught:
        connection.receive(_event("1001"), 59.999)
    assert caught.value.code == 4029


def test_the_minute_slides_with_the_messages() -> None:
    connection = _connection(per_minute=3)
    connection.receive(AUTH, 0.0)
    connection.authenticated()
    connection.live()
    connection.receive(_event("a"), 20.0)
    connection.receive(_event("b"), 40.0)
    # Sixty seconds after the first there is room for one, and for the next at eighty.
    assert connection.receive(_event("c"), 60.0) is not None
    with pytest.raises(CloseLine):
        connection.receive(_event("d"), 79.9)


def test_a_steady_line_at_its_limit_is_never_cut() -> None:
    connection = _live(per_minute=10)
    for number in range(1, 200):
        assert connection.receive(_event("x"), number * 6.0) is not None


@pytest.mark.parametrize("text", ["{", '{"type":"new"}', '{"type":"heartbeat"}'])
def test_every_message_counts_whatever_it_is(text: str) -> None:
    connection = _live(per_minute=3)
    for _ in range(2):
        try:
            connection.receive(text, 1.0)
        except Malformed:
            continue
    with pytest.raises(CloseLine) as caught:
        connection.receive(text, 1.0)
    assert caught.value.code == 4029


def test_frames_before_the_verdict_count_too() -> None:
    connection = _connection(per_minute=2)
    connection.receive(AUTH, 0.0)
    connection.receive(_event("1"), 0.0)
    with pytest.raises(CloseLine) as caught:
        connection.receive(_event("2"), 0.0)
    assert caught.value.code == 4029


def test_a_batch_counts_as_one_message() -> None:
    connection = _live(per_minute=2)
    events = [{"session_id": "s", "data": "{}"}] * 5000
    assert connection.receive(json.dumps({"type": "batch", "events": events}), 1.0) is not None


def test_zero_turns_the_rate_limit_off() -> None:
    connection = _live(per_minute=0)
    for _ in range(5000):
        connection.receive(_event("x"), 1.0)


def _uncounted(session_id: str) -> bool:
    """Of a VM whose session `busy` has an open turn."""
    return session_id == "busy"


def _event_of(session_id: str) -> str:
    return json.dumps({"type": "sse_event", "session_id": session_id, "data": "{}"})


@pytest.mark.proves("notes-1-a-frame-a-token")
def test_events_of_an_open_turn_are_not_counted_where_that_was_agreed() -> None:
    connection = _live(per_minute=3)
    for _ in range(5000):
        assert connection.receive(_event_of("busy"), 1.0, _uncounted) is not None
    assert connection.receive(_event_of("idle"), 1.0, _uncounted) is not None


@pytest.mark.proves("notes-1-all-else-is-counted")
@pytest.mark.parametrize(
    "text",
    [
        _event_of("idle"),
        '{"type":"request","session_id":"busy","id":"1","method":"get_session"}',
        '{"type":"fire_and_forget","session_id":"busy","method":"audit_log"}',
        '{"type":"batch","events":[{"session_id":"busy","data":"{}"}]}',
        '{"type":"heartbeat"}',
        '{"type":"new","session_id":"busy"}',
        '{"type":"sse_event","session_id":"busy"}',
        "{",
    ],
)
def test_all_else_of_it_is_counted(text: str) -> None:
    connection = _live(per_minute=3)
    for _ in range(2):
        with contextlib.suppress(Malformed):
            connection.receive(text, 1.0, _uncounted)
    with pytest.raises(CloseLine) as caught:
        connection.receive(text, 1.0, _uncounted)
    assert caught.value.code == 4029
