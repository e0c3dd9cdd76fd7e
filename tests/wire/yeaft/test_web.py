"""Reading what web clients send: every field may be anything
(docs/protocols/yeaft.md#messages-from-web-clients)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft.web import Request


def _request(**fields: Any) -> Request:
    return Request(json.dumps({"type": "send_message", **fields}))


@pytest.mark.parametrize("text", ["", "null", "[]", "7", "{", '{"a":1}', '{"type":null}', '"x"'])
def test_what_is_no_message_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        Request(text)


@pytest.mark.proves("002-1-aliases-stay", "002-6-old-name")
@pytest.mark.parametrize(
    "name",
    ["unify_group_chat", "yeaft_session_chat", "yeaft_session_send", "unify_session_chat"],
)
def test_a_message_is_known_under_its_old_names(name: str) -> None:
    request = Request(json.dumps({"type": name}))
    assert (request.type, request.name) == ("yeaft_session_chat", name)


def test_a_text_is_found_under_any_of_its_names_and_nothing_is_nothing() -> None:
    request = _request(text=None, prompt="hi", sessionId="")
    assert request.get("text", "prompt") == "hi"
    assert request.get("sessionId") is None
    with pytest.raises(Malformed, match="needs sessionId"):
        request.need("sessionId")
    with pytest.raises(Malformed, match="text must be a text"):
        _request(text=["hi"]).get("text")
    with pytest.raises(Malformed, match="NUL"):
        _request(text="a\x00b").get("text")


def test_positions_come_as_numbers_or_as_digits() -> None:
    assert _request(lastEventId=7).position("lastEventId") == 7
    assert _request(lastEventId="7").position("lastEventId") == 7
    assert _request().position("lastEventId") is None
    assert _request(beforeId=7.000001).position("beforeId") == 7, "a row of event 7"
    odd: object
    for odd in (-1, True, -0.5, 1e300, "x", "-1", "9" * 30, [], "٣"):
        with pytest.raises(Malformed):
            _request(lastEventId=odd).position("lastEventId")


def test_counts_are_cut_to_what_there_may_be() -> None:
    assert _request(turns=10**9).count("turns", 5, 200) == 200
    assert _request().count("turns", 5, 200) == 5
    for odd in (-1, True, "5", 1.5):
        with pytest.raises(Malformed):
            _request(turns=odd).count("turns", 5, 200)


@pytest.mark.proves("002-6-attachments")
def test_attachments_are_name_mime_and_base64_under_either_dialects_names() -> None:
    found = _request(
        attachments=[
            {"name": "a", "mime": "text/plain", "base64": "QQ=="},
            {"name": "b", "mimeType": "image/png", "data": "Qg=="},
        ]
    ).attachments(20, 1_000)
    assert found == [
        {"name": "a", "mime": "text/plain", "base64": "QQ=="},
        {"name": "b", "mime": "image/png", "base64": "Qg=="},
    ]


def test_what_else_is_said_of_an_attachment_stays_with_it() -> None:
    given = {"name": "a", "mimeType": "image/png", "base64": "QQ==", "size": 3, "isImage": True}
    (found,) = _request(attachments=[given]).attachments(20, 1_000)
    assert found == {
        "name": "a",
        "mime": "image/png",
        "base64": "QQ==",
        "size": 3,
        "isImage": True,
    }


@pytest.mark.parametrize(
    "odd",
    [
        "x",
        [1],
        [{}],
        [{"name": 1, "base64": "QQ=="}],
        [{"base64": ["QQ=="]}],
        [{"base64": "Q" * 101}],
        [{"base64": "QQ=="}] * 4,
    ],
)
def test_attachments_that_are_none_or_too_many_or_too_large_are_malformed(odd: object) -> None:
    with pytest.raises(Malformed):
        _request(attachments=odd).attachments(3, 100)


def test_fields_that_the_hub_does_not_know_stay_with_the_message() -> None:
    request = _request(
        conversationId="c", agentId="a", requestId=1, text="x", workDir="/w", new={"a": 1}
    )
    assert request.rest("text") == {"workDir": "/w", "new": {"a": 1}}
    assert request.correlation == {"requestId": 1}


@given(st.dictionaries(st.text(max_size=10), st.none() | st.integers() | st.text(max_size=5)))
def test_any_object_with_a_type_can_be_read(fields: dict[str, Any]) -> None:
    request = Request(json.dumps({**fields, "type": "x"}))
    assert request.rest() == {
        name: value
        for name, value in fields.items()
        if name not in ("type", "agentId", "conversationId", "requestId", "clientMessageId")
    }


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (5, 5),
        ("5", 5),
        (5.000001, 5.000001),
        ("5.000001", 5.000001),
        (None, None),
        ("1731668400123k3jx9a2bq", None),
        ("5_tool_0", None),
        ("5.", None),
        ("1e3", None),
    ],
    ids=[
        "number",
        "text",
        "further row",
        "further row as text",
        "none",
        "of a live message",
        "of a tool",
        "half a number",
        "another form",
    ],
)
def test_ids_that_deployed_clients_make_up_are_no_place_in_the_log(given: Any, row: Any) -> None:
    assert _request(afterMessageId=given).row("afterMessageId") == row


@pytest.mark.parametrize("given", [-1, True, [], {}, 1e308], ids=repr)
def test_what_is_no_id_at_all_is_refused(given: Any) -> None:
    with pytest.raises(Malformed):
        _request(afterMessageId=given).row("afterMessageId")
