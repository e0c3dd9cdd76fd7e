"""Every message of docs/protocols/agp.md, read from the source document's examples and written as
they are."""

import json
from typing import Any

import pytest

from tests.wire.agp.words import STATUSES, STOP_REASONS
from tests.wire.golden import Golden
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.codec import Unknown, decode_downlink, decode_uplink, encode
from trunkline.wire.agp.messages import (
    Cancel,
    CancelPayload,
    Location,
    Ping,
    Prompt,
    PromptPayload,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    blocks,
)
from trunkline.wire.errors import Malformed

golden = Golden("agp")

S, P = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"


def _to(number: int) -> Any:
    msg_id = f"550e8400-e29b-41d4-a716-44665544000{number}"
    return {"msg_id": msg_id, "guid": "device_001", "user_id": "user_123"}


UP: dict[str, Update | PromptResponse] = {
    "message_chunk": Update(
        **_to(2), payload=UpdatePayload(S, P, "message_chunk", content=blocks("文本内容")[0])
    ),
    "tool_call": Update(
        **_to(3),
        payload=UpdatePayload(
            S,
            P,
            "tool_call",
            tool_call=ToolCall(
                "tc-001",
                "in_progress",
                title="扫描临时文件",
                kind="execute",
                content=blocks("发现临时文件 2.3GB"),
                locations=[Location("/tmp")],
            ),
        ),
    ),
    "tool_call_update": Update(
        **_to(4),
        payload=UpdatePayload(S, P, "tool_call_update", tool_call=ToolCall("tc-001", "completed")),
    ),
    "prompt_response": PromptResponse(
        **_to(5),
        payload=PromptResponsePayload(S, P, "end_turn", content=blocks("今天北京晴，气温 15°C")),
    ),
    "prompt_response_error": PromptResponse(
        **_to(6), payload=PromptResponsePayload(S, P, "error", error="AI 应用执行超时")
    ),
}
DOWN: dict[str, Prompt | Cancel] = {
    "session_prompt": Prompt(
        **_to(0), payload=PromptPayload(S, P, "openclaw", blocks("帮我查一下今天的天气"))
    ),
    "session_cancel": Cancel(**_to(1), payload=CancelPayload(S, P, "openclaw")),
}


@pytest.mark.proves(
    "003-3-methods", "003-5-update-fields", "003-5-answer-fields", "003-5-update-types"
)
@pytest.mark.parametrize("name", UP)
def test_what_a_device_sends_is_read_and_written_as_the_document_has_it(name: str) -> None:
    text = golden.text("uplink", name)
    assert decode_uplink(text) == UP[name]
    assert json.loads(encode(UP[name])) == json.loads(text)


@pytest.mark.parametrize("name", DOWN)
def test_what_a_device_is_sent_is_written_and_read_as_the_document_has_it(name: str) -> None:
    text = golden.text("downlink", name)
    assert json.loads(encode(DOWN[name])) == json.loads(text)
    assert decode_downlink(text) == DOWN[name]


def test_every_example_is_looked_at() -> None:
    assert golden.names("uplink") == sorted(UP)
    assert golden.names("downlink") == sorted(DOWN)


@pytest.mark.proves("003-6-tool-kinds")
def test_the_words_are_the_document_s() -> None:
    assert agp.UPDATE_TYPES == ("message_chunk", "tool_call", "tool_call_update")
    assert (agp.END_TURN, agp.CANCELLED, agp.REFUSAL, agp.ERROR) == STOP_REASONS
    assert (agp.PENDING, agp.IN_PROGRESS, agp.COMPLETED, agp.FAILED) == STATUSES
    assert agp.KINDS == (
        "read",
        "edit",
        "delete",
        "execute",
        "search",
        "fetch",
        "think",
        "other",
    )


def test_unknown_methods_and_fields_are_tolerated() -> None:
    assert decode_uplink('{"method": "session.future", "payload": 7}') == Unknown("session.future")
    assert decode_downlink('{"method": "session.update"}') == Unknown("session.update")
    assert decode_uplink('{"method": "ping", "mood": [1]}') == Ping()
    more = golden.load("uplink", "tool_call")
    more["trace"] = {"id": 1}
    more["payload"]["tool_call"]["raw_input"] = [1, 2]
    more["payload"]["tool_call"]["locations"][0]["line"] = 7
    assert decode_uplink(json.dumps(more)) == UP["tool_call"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "7", "[]", "null", "{}", '{"method": 7}', '{"method": "session.update"}', "\ud800"],
)
def test_what_is_no_message_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        decode_uplink(text)
    with pytest.raises(Malformed):
        decode_downlink(text.replace("update", "prompt"))
