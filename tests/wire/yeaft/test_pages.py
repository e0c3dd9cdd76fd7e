"""The page docs/protocols/yeaft.md says what the wire does: examples are read, names compared."""

import re
from pathlib import Path

import pytest

from trunkline.wire.yeaft import codec, names
from trunkline.wire.yeaft.close_codes import CloseCode

FOLDER = Path(__file__).parents[3] / "docs" / "protocols"
PAGE = (FOLDER / "yeaft.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOT_SENT = {"conversations_list"}  # reserved: the answer is called `conversation_list`


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_an_envelope_of_a_released_name(text: str) -> None:
    assert codec.decode(text).type in names.RELEASED


def test_the_page_names_every_released_type() -> None:
    said = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)(?=[ `])", PAGE))
    assert sorted(names.RELEASED - said - NOT_SENT) == []


def test_the_page_says_of_every_session_event_what_becomes_of_it() -> None:
    events = (FOLDER / "events.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^\| `([a-z_]+)` \|", events, re.MULTILINE))
    table = PAGE.partition("## Messages to web clients")[2].partition("\n### ")[0]
    assert len(kinds) > 10
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in table] == []


def test_a_code_after_which_a_peer_must_not_return_says_so() -> None:
    (row,) = re.findall(rf"^\| {CloseCode.REFUSED:d} \|.*$", PAGE, re.MULTILINE)
    assert "not come back" in row
