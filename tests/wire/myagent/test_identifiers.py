"""Where a client says that it is."""

from typing import Any

import pytest

from trunkline.wire.errors import Malformed
from trunkline.wire.myagent.identifiers import UNSAID, Seen, seen_of
from trunkline.wire.myagent.messages import Uplink

CONNECTION = "01a1de65-9dbe-7a01-b850-b54788f601e3"


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({}, UNSAID),
        ({"content": "text", "metadata": []}, UNSAID),
        ({"last_seq": 7}, Seen(None, 7)),
        ({"last_seq": "7"}, Seen(None, 7)),
        ({"content": {"last_seq": 7}}, Seen(None, 7)),
        ({"metadata": {"last_seq": 0}}, Seen(None, 0)),
        ({"last_event_id": f"{CONNECTION}-7"}, Seen(CONNECTION, 7)),
        ({"content": {"last_event_id": f"{CONNECTION}-7"}}, Seen(CONNECTION, 7)),
        ({"metadata": {"last_event_id": f"{CONNECTION}-7"}, "last_seq": 3}, Seen(CONNECTION, 7)),
        ({"last_event_id": 7}, Seen(None, 7)),
    ],
)
def test_a_position_is_found_wherever_it_stands(fields: Any, seen: Seen) -> None:
    assert seen_of(Uplink("user.reconnect", **fields), 1000) == seen


@pytest.mark.parametrize(
    "value", [-1, 1001, True, 1.5, "x", "", "٣", "9" * 30, [], {}, "-", f"{CONNECTION}-", "a-b"]
)
def test_what_was_never_given_out_is_refused(value: Any) -> None:
    for fields in ({"last_seq": value}, {"content": {"last_event_id": value}}):
        with pytest.raises(Malformed):
            seen_of(Uplink("user.reconnect", **fields), 1000)
