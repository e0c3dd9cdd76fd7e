"""A log as the messages of a conversation, for clients that come back."""

import json
from typing import Any

from tests.wire.yeaft.outward_lines import CONVERSATION, line, relayed
from trunkline.wire.yeaft.history import History


def _history(*lines: str, bytes_max: int = 100_000) -> History:
    history = History(CONVERSATION, bytes_max, relays=True)
    for number, one in enumerate(lines, 1):
        history.add(number, one)
    return history


def _turn(number: int, answer: str = "ok") -> list[str]:
    turn_id = f"t{number}"
    return [
        line("user_message", content=f"q{number}", turn_id=turn_id, client_message_id="cm_1", ts=7),
        line("text_chunk", content=answer, turn_id=turn_id, ts=8),
        line("execution_complete", content=answer, turn_id=turn_id, ts=9),
    ]


def _texts(history: History) -> list[str]:
    return [
        block["text"]
        for one in history.messages()
        if "message" in one
        for block in one["message"]["content"]
        if block["type"] == "text"
    ]


def test_pieces_of_one_answer_are_one_message_with_the_last_ones_id() -> None:
    history = _history(
        line("user_message", content="q", turn_id="t1"),
        line("text_chunk", content="a", turn_id="t1"),
        line("text_chunk", content="b", turn_id="t1"),
        line("tool_call_start", tool_name="bash", tool_call_id="c", turn_id="t1"),
        line("text_chunk", content="c", turn_id="t1"),
    )
    assert _texts(history) == ["q", "ab", "c"]
    assert [one["eventId"] for one in history.messages()] == [1, 3, 4, 5]


def test_pieces_of_two_persons_stay_apart() -> None:
    history = _history(
        line("text_chunk", content="a", person={"id": "x", "name": "X"}),
        line("text_chunk", content="b", person={"id": "y", "name": "Y"}),
    )
    assert [one["vpId"] for one in history.messages()] == ["x", "y"]


def test_an_agents_own_envelopes_are_history_as_it_wrote_them() -> None:
    own = '{"type":"claude_output","data":{"type":"assistant","message":{"content":"plain"},"x":1}}'
    odd = '{"type":"claude_output","data":{"type":"assistant","message":7}}'
    history = _history(
        relayed("text_chunk", own), relayed("foreign", odd), relayed("foreign", "[]")
    )
    assert [one.get("x") for one in history.messages()] == [1, None]
    assert history.rows()[0]["content"] == "plain"


def test_the_newest_messages_that_fit_are_kept_and_the_cut_is_told() -> None:
    lines = [one for number in range(50) for one in _turn(number, "x" * 100)]
    history = _history(*lines, bytes_max=2_000)
    assert history.is_cut
    assert len(history.messages()) < 15
    assert history.messages()[-1]["eventId"] == 150


def test_one_message_that_is_larger_than_the_bound_is_still_there() -> None:
    assert _texts(_history(line("text_chunk", content="y" * 5_000), bytes_max=10)) == ["y" * 5_000]


def test_turns_are_counted_by_what_people_said() -> None:
    lines = [one for number in range(5) for one in _turn(number)]
    history = _history(*lines)
    history.keep_turns(2)
    assert [text for text in _texts(history) if text.startswith("q")] == ["q3", "q4"]
    assert history.is_cut
    history.keep_turns(9)
    assert _texts(history)[0] == "q3"
    history.keep_turns(0)
    assert history.messages() == []


def test_rows_are_what_deployed_clients_keep() -> None:
    rows: list[dict[str, Any]] = _history(
        *_turn(1),
        line("tool_call_start", tool_name="bash", tool_call_id="c", tool_input={"a": 1}, ts=5),
        line("tool_call_complete", tool_name="bash", tool_call_id="c", result="r"),
    ).rows()
    assert rows == [
        {
            "id": 1,
            "created_at": 7,
            "role": "user",
            "content": "q1",
            "message_type": "user",
            "metadata": '{"clientMessageId":"cm_1"}',
        },
        {
            "id": 2,
            "created_at": 8,
            "role": "assistant",
            "content": "ok",
            "message_type": "assistant",
            "metadata": None,
        },
        {
            "id": 4,
            "created_at": 5,
            "role": "assistant",
            "content": '{"a":1}',
            "message_type": "tool_use",
            "metadata": None,
            "tool_name": "bash",
            "tool_input": '{"a":1}',
        },
    ]


def test_every_row_has_an_id_of_its_own_and_they_sort() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c", "name": "bash"}] * 600
    said = {"type": "assistant", "message": {"role": "assistant", "content": blocks}}
    envelope = json.dumps({"type": "claude_output", "conversationId": CONVERSATION, "data": said})
    rows = _history(*_turn(1), relayed("text_chunk", envelope, content="a"), *_turn(2)).rows()
    ids = [row["id"] for row in rows]
    assert len(ids) == 1_204
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    assert (ids[2], int(ids[-3])) == (4, 4)


def test_what_a_person_said_is_there_once_though_the_agent_repeats_it() -> None:
    echo = json.dumps(
        {
            "type": "claude_output",
            "conversationId": CONVERSATION,
            "data": {"type": "user", "message": {"role": "user", "content": "q1"}},
        }
    )
    history = _history(*_turn(1), relayed("foreign", echo, echo=True))
    assert [row["content"] for row in history.rows()] == ["q1", "ok"]


def test_so_many_of_the_newest_rows_are_kept_whatever_makes_none() -> None:
    everything = ["q1", "ok", "q2", "ok"]
    for count in range(6):
        history = _history(*_turn(1), *_turn(2))
        history.keep_rows(count)
        assert [row["content"] for row in history.rows()] == everything[max(0, 4 - count) :]
        assert history.is_cut is (count < 4)


def _said(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def _answered(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _adopted(*messages: dict[str, Any]) -> str:
    """The history that a deployed agent sends with a session of its own."""
    own = {"type": "conversation_resumed", "conversationId": CONVERSATION}
    envelope = json.dumps({**own, "historyMessages": messages})
    return relayed("session_status", envelope, machine="online", ready={"provider": "x"})


def test_messages_that_were_said_elsewhere_stay_as_many_as_they_were() -> None:
    one, two = _answered(_text("one")), _answered(_text("two"))
    history = _history(
        _adopted(_said("q"), one, two), line("text_chunk", content="live"), *_turn(2)
    )
    assert [row["content"] for row in history.rows()] == ["q", "one", "two", "live", "q2", "ok"]
    assert _texts_of_answers(history) == ["one", "two", "live", "ok"]


def _texts_of_answers(history: History) -> list[str]:
    answers = [one for one in history.messages() if one["type"] == "assistant"]
    return [one["message"]["content"][0]["text"] for one in answers]


def _long() -> list[str]:
    """Rows of one event, of messages with one row, with many and with none, between turns."""
    many = _answered(*(_text(f"b{number}") for number in range(7)))
    told = [one for number in range(4) for one in (_said(f"old{number}"), many, {"type": "result"})]
    return [*_turn(1), _adopted(*told), *_turn(2)]


def _between(after: float | None = None, before: float | None = None) -> History:
    history = History(CONVERSATION, 100_000, relays=True, after=after, before=before)
    for number, one in enumerate(_long(), 1):
        history.add(number, one)
    return history


def test_rows_keep_their_ids_wherever_a_page_begins() -> None:
    every = _between().rows()
    assert len(every) == 2 + 4 * 8 + 2
    for at, row in enumerate(every):
        assert _between(before=row["id"]).rows() == every[:at]
        assert _between(after=row["id"]).rows() == every[at + 1 :]


def test_pages_of_any_size_show_every_row_once() -> None:
    every = _between().rows()
    for size in range(1, len(every) + 1):
        found: list[dict[str, Any]] = []
        is_cut = True
        while is_cut:
            page = _between(before=found[0]["id"] if found else None)
            page.keep_rows(size)
            assert 0 < len(page.rows()) <= size
            found, is_cut = [*page.rows(), *found], page.is_cut
        assert found == every


def test_pages_of_turns_show_every_row_once() -> None:
    found: list[dict[str, Any]] = []
    is_cut = True
    while is_cut:
        page = _between(before=found[0]["id"] if found else None)
        page.keep_turns(1)
        assert [row["role"] for row in page.rows()].count("user") == 1
        found, is_cut = [*page.rows(), *found], page.is_cut
    assert found == _between().rows()


def test_pieces_behind_a_row_do_not_bring_it_again() -> None:
    history = History(CONVERSATION, 100_000, after=2)
    for number, piece in enumerate("abcd", 1):
        history.add(number, line("text_chunk", content=piece, turn_id="t"))
    assert [row["content"] for row in history.rows()] == ["cd"]
    assert history.is_cut
