"""Which conversations a Yeaft server is told of, and that what is remembered of them is bounded."""

import json
from pathlib import Path

import pytest

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.ws.foreign.names import Names
from trunkline.execution.ws.foreign.yeaft_conversations import Conversations


class Told:
    """Lists that the server got; sessions run and work as a test says."""

    def __init__(self, folder: Path) -> None:
        home = Home(folder)
        home.make()
        self.active: list[str] = []
        self.busy: set[str] = set()
        self.lists: list[dict[str, bool]] = []
        self.conversations = Conversations(
            home,
            Names(folder / "names.json"),
            lambda: self.active,
            lambda: self.busy,
            lambda _session: str(home.workspace),
            self._note,
        )

    def _note(self, body: bytes) -> None:
        listed = json.loads(body)["conversations"]
        self.lists.append({one["id"]: one["processing"] for one in listed})


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_a_session_is_named_once_before_it_speaks(told: Told) -> None:
    told.active = ["a"]
    told.conversations.make_known("b")
    told.conversations.make_known("b")
    told.conversations.make_known("a")
    assert told.lists == [{"a": False, "b": True}]


def test_one_that_was_deleted_is_in_no_list_until_somebody_turns_to_it(told: Told) -> None:
    told.active, told.busy = ["a", "b"], {"b"}
    told.conversations.delete("b")
    told.conversations.make_known("a")
    told.conversations.want("b")
    told.conversations.make_known("b")
    assert told.lists == [{"a": True}, {"a": False, "b": True}]


def test_what_is_remembered_is_bounded_and_the_oldest_is_named_again(
    told: Told,
) -> None:
    for one in ["a", *map(str, range(limits.WIRE_SESSIONS_KNOWN_MAX - 2)), "b", "c"]:
        told.conversations.opened(one)
        told.conversations.delete(f"{one}-gone")
    told.conversations.make_known("c")
    assert told.lists == []
    told.conversations.make_known("a")
    assert told.lists == [{"a": True}]
    assert [told.conversations.is_deleted(f"{one}-gone") for one in "abc"] == [False, True, True]
