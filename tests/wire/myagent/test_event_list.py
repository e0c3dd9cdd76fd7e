"""The list of events that the deployed page knows: each is produced, or the page of ours that
describes the wire says that it never is."""

import re
from pathlib import Path

import pytest

from tests.wire.myagent.talk import END, SAID, Json, all_shown, names, outward
from trunkline.wire.myagent import messages

PAGE = Path(__file__).parents[3] / "docs" / "protocols" / "myagent.md"

OF_A_SESSION = {
    "agent.thinking",
    "agent.tool_call",
    "agent.tool_result",
    "agent.partial_answer",
    "agent.final_answer",
    "agent.user_confirm",
    "agent.error",
    "agent.interrupted",
    "agent.session_end",
    "agent.llm_message",
    "plan.start",
    "plan.completed",
    "plan.cancelled",
    "plan.step_completed",
    "solver.start",
    "solver.completed",
    "solver.cancelled",
    "solver.step_failed",
    "pipeline.completed",
}
OF_A_CONNECTION = {
    "agent.session_created",
    "agent.state_exported",
    "agent.state_restored",
    "system.connected",
    "system.heartbeat",
    "system.error",
    "system.notice",
}
NEVER = {
    "agent.timeout",
    "plan.validation_error",
    "plan.coercion_error",
    "solver.progress",
    "solver.retry",
    "solver.restarted",
    "aggregate.start",
    "aggregate.completed",
    "error.execution",
    "error.validation",
    "error.timeout",
    "error.recovery_started",
    "error.recovery_success",
    "error.recovery_failed",
}
"""The page's list, in three parts."""


def step(kind: str, title: str) -> Json:
    return {"type": f"plan_step_{kind}", "title": title}


STORY: list[Json] = [
    SAID,
    {"type": "plan", "plan": [{"title": "a"}]},
    step("start", "a"),
    step("complete", "a"),
    step("failed", "b"),
    {"type": "plan", "plan": [{"title": "a"}]},
    {"type": "approval_request", "request_id": "q", "tool_name": "bash", "message": "?"},
    {"type": "tool_call_start", "tool_name": "bash", "tool_call_id": "c"},
    {"type": "tool_call_complete", "tool_name": "bash", "tool_call_id": "c", "result": "x"},
    {"type": "text_chunk", "content": "done"},
    END,
    SAID,
    step("start", "c"),
    {**END, "cancelled": True},
    SAID,
    {"type": "execution_error", "error": "no"},
    {"type": "session_closed"},
]


@pytest.mark.proves("notes-2-event-list")
def test_a_session_produces_every_event_that_is_a_sessions() -> None:
    assert set(names(all_shown(*STORY, state=outward(llm_messages=True)))) == OF_A_SESSION


@pytest.mark.proves("notes-2-event-list")
def test_every_event_has_a_name_here_or_is_listed_as_never_sent() -> None:
    ours = {
        value
        for name, value in vars(messages).items()
        if name.isupper() and isinstance(value, str) and not value.startswith("user.")
    }
    assert ours == OF_A_SESSION | OF_A_CONNECTION
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition("### Events that are never sent")
    section, _, _ = rest.partition("\n### ")
    told = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([a-z_.]+)`", " ".join(told))) == NEVER
