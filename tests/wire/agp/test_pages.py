"""The page docs/protocols/agp.md says what the wire does: examples are read, tables compared."""

import json
import re
from pathlib import Path

import pytest

from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.codec import Unknown, decode_downlink, decode_uplink, encode

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "protocols" / "agp.md").read_text()
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_a_message_with_no_field_that_the_wire_does_not_know(text: str) -> None:
    decoded = [decode_uplink(text), decode_downlink(text)]
    (message,) = [one for one in decoded if not isinstance(one, Unknown)]
    assert json.loads(encode(message)) == json.loads(text)


def test_there_are_examples_down_and_up() -> None:
    methods = {json.loads(text)["method"] for text in EXAMPLES}
    assert methods == {"session.prompt", "session.update", "session.promptResponse"}


def test_the_page_names_every_method_update_type_stop_reason_and_status() -> None:
    words = {"session.cancel", "ping", "pong", *agp.UPDATE_TYPES, *agp.STOP_REASONS, *agp.STATUSES}
    assert [word for word in sorted(words) if f"`{word}" not in PAGE] == []


def test_the_page_says_of_every_session_event_what_becomes_of_it() -> None:
    events = (ROOT / "docs" / "protocols" / "events.md").read_text()
    kinds = set(re.findall(r"^\| `([a-z_]+)` \|", events, re.MULTILINE))
    assert len(kinds) > 10
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in PAGE] == []
