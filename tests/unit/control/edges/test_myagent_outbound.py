"""What goes out on a MyAgent connection: pieces are joined in time, and every place stays exact."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.eventually import WAIT_S
from trunkline.control.clock import now_ms
from trunkline.control.edges.myagent.departures import Departures
from trunkline.control.edges.myagent.outbound import Outbound
from trunkline.control.edges.myagent.pages import Page, Place, Track, place_on
from trunkline.control.edges.myagent.translation import Translation
from trunkline.wire.myagent.identifiers import Seen
from trunkline.wire.myagent.messages import Downlink
from trunkline.wire.myagent.outward_state import Outward

Json = dict[str, Any]
SESSION = "01a1de65-9dbe-7a01-b850-b54788f601e3"
NEVER_S = 3600.0


class Wire:
    """A socket that keeps what is written."""

    is_open = True

    def __init__(self) -> None:
        self.frames: list[Json] = []
        self.came = asyncio.Event()

    def send(self, *messages: bytes) -> None:
        self.send_all(messages)

    def send_all(self, messages: Iterable[bytes]) -> None:
        self.frames += [json.loads(one) for one in messages]
        self.came.set()


class Places:
    """Positions in memory: one page."""

    def __init__(self, track: Track) -> None:
        self.page = Page(track, SESSION, 1, Place(0), None)

    def sent(
        self, track: Track, session_id: str, seq: int, event_id: int, nth: int = 0, **_: Any
    ) -> None:
        self.page.add(seq, event_id, nth)

    def save_soon(self) -> None:
        """Nothing is kept."""


class Stage:
    """One connection that follows one session, and whatever is told of it."""

    def __init__(self, pieces_s: float) -> None:
        self.wire = Wire()
        track = Track("c", "u")
        self.places = Places(track)
        made: Any = (self.wire, track, self.places, None, now_ms, 100, pieces_s)
        self.out = Outbound(*made)
        state = Outward(SESSION, now_ms, confirm_timeout_s=300, text_chars_max=1000)
        self._translation = Translation(state)
        self._last = 0

    def tell(self, *events: Json) -> None:
        messages = self._translation(self._last + 1, [json.dumps(one) for one in events])
        self._last += len(events)
        self.out.take(SESSION, messages)

    @property
    def shown(self) -> list[tuple[str, Any]]:
        names = {"agent.partial_answer": "text", "agent.tool_call": "call"}
        return [
            (str(names.get(one["event"], one["event"])), one["content"])
            for one in self.wire.frames
            if one["event"] != "agent.thinking"
        ]

    def place(self, seq: int) -> Place:
        return place_on(Place(0), self.places.page.runs, seq)


def text(content: str, **fields: Any) -> Json:
    return {"type": "text_chunk", "content": content, "turn_id": "t", **fields}


def thought(content: str, **fields: Any) -> Json:
    return {
        "type": "thinking",
        "content": content,
        "stage": "reasoning",
        "turn_id": "t",
        **fields,
    }


SAID: Json = {"type": "user_message", "content": "hi", "turn_id": "t"}
USAGE: Json = {"type": "usage", "tokens_in": 1}
CALL: Json = {"type": "tool_call_start", "tool_name": "x"}


@pytest.mark.proves("notes-2-joined")
async def test_the_first_piece_goes_out_at_once_and_the_next_ones_together() -> None:
    stage = Stage(0.02)
    stage.tell(SAID)
    stage.tell(text("a"))
    assert stage.shown == [("text", "a")]
    stage.wire.came.clear()
    for piece in "bcd":
        stage.tell(text(piece))
    assert stage.shown == [("text", "a")]
    await asyncio.wait_for(stage.wire.came.wait(), WAIT_S)
    assert stage.shown == [("text", "a"), ("text", "bcd")]


@pytest.mark.proves("notes-2-joined")
async def test_whatever_else_comes_goes_behind_what_waits() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, text("a"))
    stage.tell(text("b"))
    stage.tell(text("c"), CALL, text("d"))
    assert [kind for kind, _ in stage.shown] == ["text", "text", "call"]
    assert stage.shown[1] == ("text", "bc")
    stage.out.say(Downlink("system.heartbeat", content=""))
    assert stage.shown[-2:] == [("text", "d"), ("system.heartbeat", "")]
    assert [one["seq"] for one in stage.wire.frames] == list(range(1, len(stage.wire.frames) + 1))
    stage.out.left()


async def test_a_place_is_behind_all_that_its_message_joins_and_never_further() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, text("a"))
    stage.tell(text("b"), USAGE, text("c"), USAGE, CALL, text("d"))
    stage.out.flush()
    # Events: 1 said, 2 a, 3 b, 4 usage, 5 c, 6 usage, 7 call, 8 d.
    assert [one["event"] for one in stage.wire.frames] == [
        "agent.thinking",
        "agent.partial_answer",
        "agent.partial_answer",
        "agent.tool_call",
        "agent.partial_answer",
    ]
    behind = {seq: stage.place(seq) for seq in range(6)}
    assert behind == {
        0: Place(0),
        1: Place(0, 1),
        2: Place(1, 1),
        3: Place(4, 1),
        4: Place(6, 1),
        5: Place(7, 1),
    }
    stage.out.left()


async def test_with_some_of_the_persons_words_nobody_is_taken_to_have_them_all() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, text("0"))
    stage.tell(*(text(str(n), person={"id": f"p{n % 2}"}) for n in range(1, 5)))
    stage.out.flush()
    assert stage.shown[1:] == [("text", "13"), ("text", "24")]
    assert stage.place(3) == stage.place(2), "a repeat, and never a gap"
    assert stage.place(4) == Place(5, 1)
    stage.out.left()


@pytest.mark.proves("notes-2-joined")
async def test_pieces_of_thoughts_are_joined_as_those_of_an_answer_are() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, thought("a"))
    for piece in "bcd":
        stage.tell(thought(piece))
    stage.tell(text("1"), text("2"))
    for piece in "xyz":  # a helper's words, between ours
        stage.tell(text(piece, agent="helper"), text(piece.upper()))
    stage.tell(thought("e"), thought("f"))
    stage.tell(CALL)
    shown = [
        (one["event"], one["metadata"].get("agent"), one["content"])
        for one in stage.wire.frames[1:-1]
    ]
    assert shown == [
        ("agent.thinking", None, "a"),
        ("agent.thinking", None, "bcd"),
        ("agent.partial_answer", None, "12XYZ"),
        ("agent.thinking", "helper", "xyz"),
        ("agent.thinking", None, "ef"),
    ]
    assert {one["step_id"] for one in stage.wire.frames if one["event"] == "agent.thinking"} == {
        "step_1_thinking"
    }
    # Events: 1 said, 2 to 5 thoughts, 6 and 7 text, 8 to 13 both, 14 and 15 thoughts, 16 the call.
    assert stage.place(2) == Place(1, 1)
    assert stage.place(6) == Place(14, 1)
    assert stage.place(5) == stage.place(2), "with some of what was joined nobody has it all"
    stage.out.left()


async def test_ten_thousand_thoughts_are_few_messages_and_none_is_lost() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID)
    pieces = [f"{number} " for number in range(10_000)]
    for piece in pieces:
        stage.tell(thought(piece))
    stage.out.flush()
    thoughts = [one for one in stage.wire.frames if one["metadata"].get("stage") == "reasoning"]
    assert "".join(one["content"] for one in thoughts) == "".join(pieces)
    assert len(thoughts) == 2
    stage.out.left()


async def test_what_a_machine_says_of_its_model_stays_a_sentence_of_its_own() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, thought("The model is loaded.", stage="model"))
    stage.tell(thought("It is asked again.", stage="model"), thought("hm", stage="reasoning"))
    told = [one["content"] for one in stage.wire.frames[1:]]
    assert told == ["The model is loaded.", "It is asked again.", "hm"]
    stage.out.left()


@pytest.mark.parametrize("name", ["", "x" * 5_000])
async def test_thoughts_of_no_turn_and_of_odd_stages_are_shown_all_the_same(name: str) -> None:
    stage = Stage(NEVER_S)
    stage.tell(*(thought(piece, stage=name, turn_id="") for piece in "abc"))
    stage.out.flush()
    assert "".join(one["content"] for one in stage.wire.frames) == "abc"
    stage.out.left()


async def test_much_text_does_not_wait() -> None:
    stage = Stage(NEVER_S)
    stage.tell(SAID, text("a"))
    stage.tell(*(text("x" * 30_000) for _ in range(4)))
    assert [len(content) for _, content in stage.shown] == [1, 90_000]
    stage.out.left()


async def test_what_waits_when_the_connection_ends_was_not_sent() -> None:
    stage, later = Stage(0.01), Stage(0.01)
    for one in (stage, later):
        one.tell(SAID, text("a"))
        one.tell(text("b"))
    later.wire.came.clear()
    stage.wire.is_open = False
    stage.out.left()
    # Its time has come when that of another, which began to wait after it, has.
    await asyncio.wait_for(later.wire.came.wait(), WAIT_S)
    assert stage.shown == [("text", "a")]
    assert stage.place(10**9) == Place(1, 1)


def test_departures_are_the_next_connections_and_bounded() -> None:
    left = Departures(300.0, lambda: 0.0, users_max=2)
    left.left("ann", {"s1": Seen("c1", 4)})
    left.left("ann", {"s2": Seen("c2", None)})
    left.left("bob", {})
    assert left.take("bob") == {}
    assert left.take("ann") == {"s1": Seen("c1", 4), "s2": Seen("c2", None)}
    assert left.take("ann") == {}, "of one connection only"
    for number in range(5):
        left.left(f"user {number}", {"s": Seen("c", 1)})
    assert [bool(left.take(f"user {number}")) for number in range(5)] == [False] * 3 + [True] * 2
    left.left("ann", {f"s{number}": Seen("c", 1) for number in range(500)})
    assert len(left.take("ann")) == 100


def test_a_departure_is_forgotten_after_a_while_and_a_later_one_does_not_keep_it() -> None:
    times = iter((0.0, 200.0, 300.0, 600.0))
    left = Departures(300.0, lambda: next(times))
    left.left("ann", {"s1": Seen("c1", 4)})
    left.left("ann", {"s2": Seen("c2", 7)})
    assert left.take("ann") == {"s2": Seen("c2", 7)}
    assert left.take("ann") == {}
