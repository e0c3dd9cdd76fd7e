"""The pages under docs/protocols say what the wires do: examples are read, names are compared."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.wire.agp.words import STATUSES, STOP_REASONS
from trunkline.wire.agp import messages as agp
from trunkline.wire.myagent import messages as myagent
from trunkline.wire.semibot import messages as semibot
from trunkline.wire.yeaft import codec, names
from trunkline.wire.yeaft.close_codes import CloseCode

FOLDER = Path(__file__).parents[2] / "docs" / "protocols"
TYPES: dict[str, Any] = {
    "semibot": semibot.Uplink | semibot.Downlink,
    "capabilities": semibot.Uplink | semibot.Downlink,
    "agp": agp.Uplink | agp.Downlink,
    "myagent": myagent.Downlink,
}
TRANSLATIONS = {
    "agp": ("# The AGP wire", "\n# "),
    "myagent": ("## Translation of session events", "\n## "),
    "yeaft": ("## Messages to web clients", "\n### "),
}
"""Where a page says what becomes of session events: from one heading up to another."""
MYAGENT_NAMES = [
    value
    for name, value in vars(myagent).items()
    if name.isupper() and isinstance(value, str) and "." in value
]
NOT_SENT = {"conversations_list"}  # reserved: the answer is called `conversation_list`


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def examples(page: str) -> list[str]:
    found: list[str] = re.findall(r"^```json\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    return found


def with_defaults(shown: Any, sent: Any) -> Any:
    """What was shown, with the fields beside it that have their defaults in what was sent."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        filled = {name: with_defaults(value, sent.get(name)) for name, value in shown.items()}
        return {**{name: value for name, value in sent.items() if name not in shown}, **filled}
    return shown


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(page, text, id=f"{page}-{number}")
        for page in TYPES
        for number, text in enumerate(examples(page), 1)
    ],
)
def test_an_example_is_a_message_with_no_field_that_the_wire_does_not_know(
    page: str, text: str
) -> None:
    shown = json.loads(text)
    sent = json.loads(msgspec.json.encode(msgspec.json.decode(text, type=TYPES[page])))
    if page in ("semibot", "capabilities"):  # their examples leave out what has a default
        shown = with_defaults(shown, sent)
    assert shown == sent


@pytest.mark.parametrize("text", examples("yeaft"))
def test_an_example_of_yeaft_is_an_envelope_of_a_released_name(text: str) -> None:
    assert codec.decode(text).type in names.RELEASED


def test_an_example_with_a_wrong_field_would_be_noticed() -> None:
    for text in ('{"type": "resume", "pending_ids": "msg-1"}', '{"type": "acks", "acked": {}}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(text, type=TYPES["semibot"])
    sent = {"event": "agent.thinking"}
    assert with_defaults({**sent, "evnt": "agent.thinking"}, sent) != sent


def test_there_are_examples_of_what_each_page_explains() -> None:
    shown = [json.loads(one) for page in ("semibot", "capabilities") for one in examples(page)]
    additions = {"ack", "batch", "error", "approval_response", "token"}
    assert {"auth", "init", "resume", *additions} <= {one["type"] for one in shown}
    methods = {json.loads(one)["method"] for one in examples("agp")}
    assert methods == {"session.prompt", "session.update", "session.promptResponse"}
    events = {json.loads(one)["event"] for one in examples("myagent")}
    assert events <= set(MYAGENT_NAMES)
    assert {one.partition(".")[0] for one in events} == {"agent", "system"}


def unnamed(words: Iterable[str], page: str) -> list[str]:
    """Those that stand neither in backticks nor in quotes."""
    text = text_of(page)
    return [one for one in words if f"`{one}" not in text and f'"{one}"' not in text]


def test_a_page_names_every_message_of_its_wire() -> None:
    tags = [str(one.__struct_config__.tag) for one in (*semibot.UPLINK, *semibot.DOWNLINK)]
    assert unnamed(unnamed(tags, "semibot"), "capabilities") == []
    words = ("session.cancel", "ping", "pong", *agp.UPDATE_TYPES, *STOP_REASONS, *STATUSES)
    assert unnamed(words, "agp") == []
    assert len(MYAGENT_NAMES) > 25
    assert unnamed(MYAGENT_NAMES, "myagent") == []
    said = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)(?=[ `])", text_of("yeaft")))
    assert sorted(names.RELEASED - said - NOT_SENT) == []


@pytest.mark.parametrize("page", TRANSLATIONS)
def test_a_page_says_of_every_session_event_what_becomes_of_it(page: str) -> None:
    of_sessions, found, _ = text_of("events").partition("\n## Server-sent events")
    assert found
    kinds = set(re.findall(r"^\| `([a-z_]+)` \|", of_sessions, re.MULTILINE))
    first, end = TRANSLATIONS[page]
    _, found, rest = text_of(page).partition(first)
    assert found
    assert len(kinds) > 10
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in rest.partition(end)[0]] == []


def test_a_code_after_which_a_peer_must_not_return_says_so() -> None:
    (row,) = re.findall(rf"^\| {CloseCode.REFUSED:d} \|.*$", text_of("yeaft"), re.MULTILINE)
    assert "not come back" in row
