"""The page docs/protocols/myagent.md says what the wire does: examples are read, names compared."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trunkline.wire.myagent import messages
from trunkline.wire.myagent.messages import Downlink

FOLDER = Path(__file__).parents[3] / "docs" / "protocols"
PAGE = (FOLDER / "myagent.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NAMES = sorted(
    value
    for name, value in vars(messages).items()
    if name.isupper() and isinstance(value, str) and "." in value
)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_a_message_with_no_field_that_the_wire_does_not_know(text: str) -> None:
    shown: Any = json.loads(text)
    message = msgspec.convert(shown, Downlink)
    assert message.event in NAMES
    assert msgspec.to_builtins(message) == shown


def test_there_are_examples_of_a_sessions_and_of_the_systems_messages() -> None:
    categories = {json.loads(text)["event"].partition(".")[0] for text in EXAMPLES}
    assert categories == {"agent", "system"}


def test_the_page_names_every_event() -> None:
    assert len(NAMES) > 25
    assert [name for name in NAMES if f"`{name}`" not in PAGE] == []


def test_the_page_says_of_every_session_event_what_becomes_of_it() -> None:
    events = (FOLDER / "events.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^\| `([a-z_]+)` \|", events, re.MULTILINE))
    table = PAGE.partition("## Translation of session events")[2].partition("\n## ")[0]
    assert len(kinds) > 10
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in table] == []
