"""The standard event types of source document 000 §7, from a machine to a reader."""

from typing import Any

import pytest
import structlog

from tests.support.control import Control

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENTS: dict[str, dict[str, Any]] = {
    "text_chunk": {"content": "Hello"},
    "tool_call_start": {"tool_name": "search", "tool_input": {}},
    "tool_call_complete": {"tool_name": "search", "result": {}},
    "skill_call_start": {"skill_name": "pdf"},
    "skill_call_complete": {"skill_name": "pdf", "result": {"pages": 3}},
    "thinking": {"content": "…", "stage": "planning"},
    "execution_complete": {"content": "Done."},
    "execution_error": {"error": "the model did not answer", "code": "MODEL_ERROR"},
}


@pytest.mark.proves("000-7-standard-event-types", "000-7-ids-grow", "000-7-one-stream-per-session")
async def test_every_standard_event_reaches_readers_under_its_name(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session, other = await user.session(), await user.session()
        async with user.reader(session) as live, user.reader(other) as elsewhere:
            for kind, fields in EVENTS.items():
                await vm.event(session, type=kind, **fields)
            await live.until(lambda one: len(one.ids) == len(EVENTS), "every event")
            assert [event.name for event in live.events] == ["message"] * len(EVENTS)
            assert live.ids == list(range(1, len(EVENTS) + 1))
            expected = [{"type": kind, **fields} for kind, fields in EVENTS.items()]
            assert [event.json for event in live.events] == expected
            assert elsewhere.events == []


@pytest.mark.proves("000-8-malformed-message-is-logged", "000-8-malformed-message-is-skipped")
async def test_a_malformed_message_is_a_warning_in_the_log(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        with structlog.testing.capture_logs() as lines:
            await vm.send_text('{"type": "heartbeat", "active_sessions": 7}')
            await vm.text(session, "after it")
            async with user.reader(session) as reader:
                await reader.until_text("after it")
        (warning,) = [line for line in lines if line["event"] == "malformed message"]
        assert warning["log_level"] == "warning"
        assert warning["machine"] == (await user.ok("GET", "/machines"))["items"][0]["id"]
        assert "active_sessions" in warning["problem"]
        assert vm.close_code is None
