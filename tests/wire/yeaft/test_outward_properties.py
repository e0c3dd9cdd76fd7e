"""Properties of the outward translation: whatever is in a log, and there and back again."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.yeaft.outward_lines import CONVERSATION, bodies, kinds, line
from trunkline.wire.events import SessionEvent
from trunkline.wire.yeaft import codec, plain
from trunkline.wire.yeaft.inward import to_events
from trunkline.wire.yeaft.inward_state import Inward
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

TYPES = [
    "text_chunk",
    "thinking",
    "tool_call_start",
    "tool_call_progress",
    "tool_call_complete",
    "skill_call_start",
    "skill_call_complete",
    "execution_complete",
    "execution_error",
    "user_message",
    "approval_request",
    "approval_resolved",
    "plan",
    "file_created",
    "usage",
    "session_status",
    "session_closed",
    "mcp_call_start",
    "mcp_call_complete",
    "plan_step_start",
    "foreign",
    "person_start",
    "person_complete",
    "person_error",
    "unheard_of",
]
_fields = [name for name in SessionEvent.__struct_fields__ if name not in ("type", "raw")]
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
_raws = st.none() | st.fixed_dictionaries(
    {"protocol": st.sampled_from(["yeaft", "agp"])}, optional={"message": _anything}
)
_events = st.builds(
    lambda kind, fields, raw: {"type": kind, **fields, **({} if raw is None else {"raw": raw})},
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(_fields), _anything, max_size=6),
    _raws,
)


@given(st.lists(_events, max_size=12), st.booleans())
def test_no_log_however_odd_breaks_the_translation(
    events: list[dict[str, Any]], deployed: bool
) -> None:
    """Verbatim envelopes are whatever an agent wrote; all that is ours is an object with a type."""
    lines = [json.dumps(one) for one in events]
    for body in bodies(lines, deployed=deployed, is_group=True):
        found = json.loads(body)
        raws = [one.get("raw") or {} for one in events]
        assert isinstance(found, dict) or found in [raw.get("message") for raw in raws]


@given(st.text(max_size=200))
def test_no_text_however_broken_breaks_the_translation(text: str) -> None:
    broken = (text, '{"type":"text_chunk","content":"\\ud800"}', line("text_chunk", content=text))
    for body in bodies(broken):
        json.loads(body)


@given(
    st.text(max_size=8),
    st.dictionaries(st.sampled_from(["turn_id", "person", "agent", "raw", "ts"]), _anything),
)
def test_the_short_way_says_the_same_as_the_long_one(text: str, fields: dict[str, Any]) -> None:
    one = json.dumps({"type": "text_chunk", "content": text, **fields}, separators=(",", ":"))
    made = plain.from_lines(Outward(CONVERSATION), [one])
    if made:
        assert made == bodies([one])
    elif text and set(fields) == {"turn_id"} and isinstance(fields["turn_id"], str):
        raise AssertionError("a plain piece of text took the long way")


_words = st.text(min_size=1, max_size=12)
_calls = st.builds(
    lambda given, result, failed: (given, result, failed),
    st.dictionaries(_words, st.integers() | _words, max_size=2),
    _words,
    st.booleans(),
)
_steps = st.one_of(
    _words.map(lambda one: ("text", one)),
    _words.map(lambda one: ("thinking", one)),
    _calls.map(lambda one: ("call", one)),
)
_ends = st.sampled_from(["complete", "unsaid", "error", "cancelled"])


def _lines(turn_id: str, steps: list[Any], end: str) -> list[str]:
    found = [line("user_message", content="go", turn_id=turn_id, ts=1)]
    said = ""
    for number, (kind, what) in enumerate(steps):
        if kind == "text":
            said += what
            found.append(line("text_chunk", content=what, turn_id=turn_id))
        elif kind == "thinking":
            found.append(line("thinking", content=what, turn_id=turn_id))
        else:
            said = ""
            given_input, result, failed = what
            call = {"tool_call_id": f"c{number}", "tool_name": "bash", "turn_id": turn_id}
            found.append(line("tool_call_start", tool_input=given_input, **call))
            found.append(line("tool_call_complete", result=result, is_error=failed, **call))
    ends = {
        "complete": line("execution_complete", content=said, turn_id=turn_id, ts=9),
        "unsaid": line("execution_complete", content="the unsaid end", turn_id=turn_id, ts=9),
        "error": line("execution_error", error="broken", code="AGENT_ERROR", turn_id=turn_id),
        "cancelled": line("execution_complete", cancelled=True, turn_id=turn_id),
    }
    return [*found, ends[end]]


_turns = st.lists(st.tuples(st.lists(_steps, max_size=6), _ends), min_size=1, max_size=3)


@given(_turns, st.booleans())
def test_every_turn_has_one_result_and_everything_keeps_its_order(
    turns: list[tuple[list[Any], str]], deployed: bool
) -> None:
    state = Outward(CONVERSATION, deployed=deployed)
    for number, (steps, end) in enumerate(turns):
        lines = _lines(f"t{number}", steps, end)
        found = [
            json.loads(out.body)
            for at, one in enumerate(lines)
            for out in from_events(state, at, one)
        ]
        output = [one["data"] for one in found if one["type"] == "claude_output"]
        assert kinds(output).count("result") == 1
        assert output[-1]["type"] == "result"
        if deployed:
            assert found[-1]["type"] in ("turn_completed", "execution_cancelled")
        blocks = [
            block
            for one in output
            if one["type"] == "assistant" or (one["type"] == "user" and one is not output[0])
            for block in one["message"]["content"]
        ]
        said = [_shown(block) for block in blocks]
        wanted = [one for step in steps for one in _wanted(step)]
        assert said[: len(wanted)] == wanted
        assert said[len(wanted) :] == ([("text", "the unsaid end")] if end == "unsaid" else [])


def _shown(block: dict[str, Any]) -> tuple[Any, ...]:
    match block["type"]:
        case "text":
            return "text", block["text"]
        case "thinking":
            return "thinking", block["thinking"]
        case "tool_use":
            return "use", block["input"]
    return "result", block["content"], block.get("is_error", False)


def _wanted(step: tuple[str, Any]) -> list[tuple[Any, ...]]:
    kind, what = step
    if kind != "call":
        return [(kind, what)]
    given_input, result, failed = what
    return [("use", given_input), ("result", result, failed)]


_EXPRESSIBLE = ("text_chunk", "thinking", "tool_call_start", "tool_call_complete")


@given(st.lists(_steps, max_size=6), _ends)
def test_what_goes_out_to_a_yeaft_client_comes_back_as_the_same_events(
    steps: list[Any], end: str
) -> None:
    lines = _lines("t1", steps, end)
    inward = Inward(
        CONVERSATION,
        "machine",
        text_chars_max=10_000,
        tools_max=100,
        persons_max=10,
        question_timeout_s=300.0,
    )
    inward.dialect = "documented"
    inward.begin("t1")
    inward.is_cancelling = end == "cancelled"
    back = [
        json.loads(one)
        for body in bodies(lines)
        for one in to_events(inward, codec.decode(body), body.decode(), 5)
    ]
    before = [_meaning(json.loads(one)) for one in lines]
    after = [_meaning(one) for one in back]
    if end == "unsaid":
        before.insert(-1, ("text_chunk", "the unsaid end"))
    kept = (*_EXPRESSIBLE, "execution_complete", "execution_error")
    assert [one for one in after if one[0] in kept] == [one for one in before if one[0] in kept]


def _meaning(event: dict[str, Any]) -> tuple[Any, ...]:
    """What an event says, without ids and times of its own."""
    match event["type"]:
        case "text_chunk" | "thinking":
            return event["type"], event["content"]
        case "tool_call_start":
            return event["type"], event["tool_call_id"], event["tool_name"], event["tool_input"]
        case "tool_call_complete":
            shown = event["tool_call_id"], event["tool_name"], event["result"]
            return event["type"], *shown, event["is_error"]
        case "execution_complete":
            return event["type"], bool(event.get("cancelled"))
        case "execution_error":
            return event["type"], event["error"], event["code"]
    return (event["type"],)
