"""The pages under docs/protocols say what the wire does: examples are read, tables are compared."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trunkline.wire.semibot.messages import DOWNLINK, UPLINK, Downlink, Uplink

PAGES = Path(__file__).parents[3] / "docs" / "protocols"
EXAMPLE = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _examples() -> list[Any]:
    found = []
    for page in ("semibot.md", "capabilities.md"):
        for number, text in enumerate(EXAMPLE.findall((PAGES / page).read_text()), 1):
            found.append(pytest.param(text, id=f"{page}-{number}"))
    return found


@pytest.mark.parametrize("text", _examples())
def test_an_example_is_a_message_with_no_field_that_the_wire_does_not_know(text: str) -> None:
    shown = msgspec.json.decode(text)
    message = msgspec.json.decode(text, type=Uplink | Downlink)
    sent = msgspec.json.decode(msgspec.json.encode(message))
    assert _with_defaults(shown, sent) == sent


def _with_defaults(shown: Any, sent: Any) -> Any:
    """What was shown, with the fields beside it that have their defaults in what was sent."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        filled = {name: _with_defaults(value, sent.get(name)) for name, value in shown.items()}
        return {**{name: value for name, value in sent.items() if name not in shown}, **filled}
    return shown


def test_there_are_examples_of_every_addition() -> None:
    shown = {msgspec.json.decode(parameter.values[0])["type"] for parameter in _examples()}
    additions = {"ack", "batch", "error", "approval_response", "token"}
    assert {"auth", "init", "resume", *additions} <= shown


def test_the_page_names_every_message() -> None:
    text = "".join((PAGES / page).read_text() for page in ("semibot.md", "capabilities.md"))
    tags = [str(struct.__struct_config__.tag) for struct in (*UPLINK, *DOWNLINK)]
    assert [tag for tag in tags if f"`{tag}" not in text and f'"{tag}"' not in text] == []


def test_an_example_with_a_wrong_field_would_be_noticed() -> None:
    for text in ('{"type": "resume", "pending_ids": "msg-1"}', '{"type": "acks", "acked": {}}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(text, type=Uplink | Downlink)
