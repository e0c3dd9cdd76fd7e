"""What holds for every stream: order, nothing lost that can be said, one end, there and back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.agp.words import STATUSES, STOP_REASONS
from trunkline.wire import events
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.codec import decode_uplink
from trunkline.wire.agp.inward import CallBounds, Inward, to_events
from trunkline.wire.agp.messages import (
    Location,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    blocks,
)
from trunkline.wire.agp.outward import Outward, from_events

Json = dict[str, Any]
BOUNDS = CallBounds(title_chars=500, word_chars=40, path_chars=4096, locations=100)

_TEXT = st.text(min_size=1, max_size=20)
_OPTIONAL = st.none() | _TEXT
_CONTENT = st.none() | st.lists(_TEXT, max_size=2).map(lambda texts: blocks(*texts))
_CALLS = st.builds(
    ToolCall,
    tool_call_id=st.sampled_from("abc"),
    status=st.sampled_from(STATUSES),
    title=_OPTIONAL,
    kind=st.none() | st.sampled_from(agp.KINDS),
    content=_CONTENT,
    locations=st.none() | st.lists(st.builds(Location, path=_TEXT), max_size=2),
)
_CHUNKS = _TEXT.map(lambda text: UpdatePayload("s", "p", "message_chunk", content=blocks(text)[0]))
_TOOLS = st.builds(
    lambda kind, call: UpdatePayload("s", "p", kind, tool_call=call),
    st.sampled_from(("tool_call", "tool_call_update")),
    _CALLS,
)
_UPDATES = st.lists(_CHUNKS | _TOOLS, max_size=25)
_ANSWERS = st.builds(
    PromptResponsePayload,
    session_id=st.just("s"),
    prompt_id=st.just("p"),
    stop_reason=st.sampled_from(STOP_REASONS),
    content=_CONTENT,
    error=_OPTIONAL,
)


def _inward(updates: list[Update], answer: PromptResponse) -> list[Json]:
    state = Inward("p", chars_max=10_000, calls_max=100, call_bounds=BOUNDS)
    lines = [line for one in updates for line in to_events(state, one, 7)]
    return [json.loads(line) for line in [*lines, *to_events(state, answer, 7)]]


def _outward(lines: list[str]) -> list[Update | PromptResponse]:
    state = Outward("s")
    state.begin("p", "g", "u")
    sent = [
        decode_uplink(message)
        for event_id, line in enumerate(lines, 1)
        for message in from_events(state, event_id, line)
    ]
    kept = [one for one in sent if isinstance(one, (Update, PromptResponse))]
    assert kept == sent
    assert len({one.msg_id for one in kept}) == len(kept)
    return kept


def _comparable(event: Json) -> Json:
    """Without ids of messages, and without a status and a title that say nothing new."""
    kept = {name: value for name, value in event.items() if name not in ("msg_id", "ts", "title")}
    if kept.get("status") != "pending":
        kept.pop("status", None)
    return kept


@given(_UPDATES, _ANSWERS)
def test_what_a_device_says_is_the_same_after_going_out_and_in_again(
    payloads: list[UpdatePayload], answer: PromptResponsePayload
) -> None:
    updates = [Update(msg_id=f"m{n}", payload=one) for n, one in enumerate(payloads)]
    once = _inward(updates, PromptResponse(msg_id="end", payload=answer))
    sent = _outward([json.dumps(event) for event in once])
    *again, last = sent
    assert isinstance(last, PromptResponse)
    twice = _inward([one for one in again if isinstance(one, Update)], last)
    assert list(map(_comparable, twice)) == list(map(_comparable, once))


@given(_UPDATES, _ANSWERS)
def test_text_is_kept_in_its_order_and_a_turn_ends_once_and_last(
    payloads: list[UpdatePayload], answer: PromptResponsePayload
) -> None:
    updates = [Update(msg_id=f"m{n}", payload=one) for n, one in enumerate(payloads)]
    said = _inward(updates, PromptResponse(msg_id="end", payload=answer))
    texts = [one.content.text for one in payloads if one.content is not None]
    assert [one["content"] for one in said if one["type"] == "text_chunk"] == texts
    assert [one["type"] in events.TERMINAL for one in said] == [False] * (len(said) - 1) + [True]
    ids = [one["msg_id"] for one in said]
    assert ids == sorted(ids, key=[*(one.msg_id for one in updates), "end"].index)


@given(_UPDATES, _ANSWERS)
def test_every_call_starts_once_before_all_else_and_is_over_once(
    payloads: list[UpdatePayload], answer: PromptResponsePayload
) -> None:
    updates = [Update(msg_id=f"m{n}", payload=one) for n, one in enumerate(payloads)]
    said = _inward(updates, PromptResponse(msg_id="end", payload=answer))
    calls = [one.tool_call for one in payloads if one.tool_call is not None]
    for call_id in {call.tool_call_id for call in calls}:
        kinds = [one["type"] for one in said if one.get("tool_call_id") == call_id]
        assert kinds.index("tool_call_start") == 0
        assert kinds.count("tool_call_start") == 1
        over = any(c.status in ("completed", "failed") for c in calls if c.tool_call_id == call_id)
        assert kinds.count("tool_call_complete") == over
        results = "".join(agp.shown(c.content) for c in calls if c.tool_call_id == call_id)
        mine = [one for one in said if one.get("tool_call_id") == call_id]
        assert "".join(one.get("result", "") + one.get("content", "") for one in mine) == results


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_ANY_EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            (
                "text_chunk",
                "thinking",
                "tool_call_start",
                "tool_call_progress",
                "tool_call_complete",
                "skill_call_start",
                "skill_call_complete",
                "execution_complete",
                "execution_error",
                "usage",
                "user_message",
            )
        )
    },
    optional=dict.fromkeys(
        (
            "content",
            "tool_call_id",
            "tool_name",
            "tool_input",
            "result",
            "is_error",
            "kind",
            "title",
            "locations",
            "status",
            "error",
            "code",
            "cancelled",
            "skill_name",
        ),
        _JSON,
    )
    | {"turn_id": st.sampled_from((None, "p", "q"))},
)


@given(st.lists(_ANY_EVENT, max_size=30))
def test_whatever_a_machine_writes_becomes_messages_of_the_document_and_one_answer_a_turn(
    lines: list[Json],
) -> None:
    sent = _outward([json.dumps(line) for line in lines])
    answered: list[str] = []
    for message in sent:
        assert message.payload.prompt_id not in answered
        if isinstance(message, PromptResponse):
            assert message.payload.stop_reason in STOP_REASONS
            answered.append(message.payload.prompt_id)
        else:
            assert message.payload.update_type in agp.UPDATE_TYPES
            if (call := message.payload.tool_call) is not None:
                assert call.status in STATUSES
                assert call.kind is None or call.kind in agp.KINDS
