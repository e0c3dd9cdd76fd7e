"""Plans and their tasks: what a planning agent's page shows, and when it shows work."""

from typing import Any

import pytest

from tests.wire.myagent.talk import END, NOW_MS, SAID, Json, all_shown, names, shown

PLAN: Json = {"type": "plan", "plan": [{"title": "a"}, {"title": "b"}]}


def step(kind: str, title: Any = "a", **fields: Any) -> Json:
    return {"type": f"plan_step_{kind}", "title": title, **fields}


@pytest.mark.proves("notes-2-plans", "notes-2-plan-completed")
def test_the_first_plan_is_made_and_later_ones_are_progress() -> None:
    messages = shown(SAID, PLAN, PLAN, END, {**SAID, "turn_id": "t2"}, PLAN)
    plans = [one for one in messages if one["event"].startswith("plan.")]
    assert names(plans) == [
        "plan.start",
        "plan.completed",
        "plan.step_completed",
        "plan.start",
        "plan.completed",
    ]
    assert plans[0]["step_id"] == plans[1]["step_id"] == plans[2]["step_id"] != plans[3]["step_id"]
    assert plans[0]["content"] == {"question": "hi"}
    assert plans[1]["content"] == {"tasks": PLAN["plan"]}
    assert plans[1]["metadata"] == {"task_count": 2, "plan_summary": "a; b"}


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"tasks": [], "plan_summary": "nothing to do"}, (0, "nothing to do")),
        ({"tasks": ["x", {"name": "y"}, {}, 7]}, (4, "x; y; 7")),
        ({"tasks": "x"}, (None, "")),
        ("in words", (None, "")),
        (7, (None, "")),
        ([{"title": "t" * 9_000}] * 50, (50, None)),
    ],
)
def test_whatever_a_plan_is_it_has_a_summary(
    plan: Any, told: tuple[int | None, str | None]
) -> None:
    made = shown(SAID, {"type": "plan", "plan": plan})[1]
    assert made["event"] == "plan.completed"
    assert made["metadata"].get("task_count") == told[0]
    summary = made["metadata"]["plan_summary"]
    assert len(summary) < 1_200
    assert told[1] in (None, summary)


@pytest.mark.proves("notes-2-solver-title")
def test_steps_of_a_plan_are_the_solvers_and_name_their_task() -> None:
    events = (step("start"), step("complete", result="ok"), step("failed", "b", error="no"))
    messages = shown(SAID, {"type": "plan_created", "content": "x"}, *events)
    solvers = [one for one in messages if one["event"].startswith("solver.")]
    assert names(solvers) == ["solver.start", "solver.completed", "solver.step_failed"]
    assert [one["content"]["task"]["title"] for one in solvers] == ["a", "a", "b"]
    assert solvers[1]["content"]["result"] == "ok"
    assert solvers[2]["metadata"]["error"] == "no"
    assert len({one["step_id"] for one in messages if one["event"].startswith("plan")}) == 1


@pytest.mark.parametrize(
    "named", [{"content": "a", "title": None}, {"message": "a", "title": None}]
)
def test_a_task_is_named_by_whatever_its_event_has(named: Json) -> None:
    assert shown(SAID, step("start", **named))[0]["content"] == {"task": {"title": "a"}}


def test_a_cancelled_plan_is_told_with_the_tasks_that_ran() -> None:
    events = (PLAN, step("start", "a"), step("complete", "a"), step("start", "b"))
    cancelled = {**END, "cancelled": True, "reason": "user_cancelled"}
    messages = shown(SAID, *events, cancelled)
    assert names(messages)[-3:] == ["solver.cancelled", "plan.cancelled", "agent.interrupted"]
    assert messages[-3]["content"] == {"task": {"title": "b"}}
    assert messages[-2]["metadata"]["reason"] == "user_cancelled"


def test_a_turn_with_a_plan_ends_with_its_pipeline() -> None:
    messages = shown(SAID, PLAN, {**END, "ts": NOW_MS + 900})
    assert names(messages)[-2:] == ["pipeline.completed", "agent.final_answer"]
    assert messages[-2]["metadata"]["task_count"] == 2
    assert messages[-2]["metadata"]["total_duration_ms"] == 900
    assert "pipeline.completed" not in names(shown(SAID, END))


class Button:
    """When a page offers to stop the turn: its own rules, event by event."""

    def __init__(self) -> None:
        self.plan = self.aggregate = self.thinking = False
        self.solvers = 0

    def show(self, event: str) -> bool:
        match event:
            case "plan.start":
                self.plan, self.thinking = True, False
            case "plan.completed" | "plan.cancelled":
                self.plan = self.thinking = False
            case "solver.start":
                self.solvers, self.thinking = self.solvers + 1, False
            case "solver.completed" | "solver.cancelled":
                self.solvers = max(0, self.solvers - 1)
            case "agent.user_confirm":
                self.thinking = False
            case "agent.thinking":
                self.thinking = True
            case "agent.final_answer" | "agent.interrupted" | "agent.error" | "pipeline.completed":
                self.plan = self.thinking = False
                self.solvers = 0
        return self.plan or self.thinking or self.solvers > 0


@pytest.mark.proves("notes-2-busy")
def test_a_page_can_stop_a_turn_from_its_first_moment_to_its_last() -> None:
    ask = {"type": "approval_request", "request_id": "q", "tool_name": "bash", "message": "?"}
    story: list[Json] = [
        SAID,
        PLAN,
        step("start", "a"),
        step("complete", "a"),
        PLAN,
        step("start", "b"),
        step("failed", "b"),
        {"type": "text_chunk", "content": "so"},
        ask,
        {"type": "approval_resolved", "request_id": "q", "confirmed": True},
    ]
    for count in range(1, len(story) + 1):
        button = Button()
        shows = [button.show(one["event"]) for one in all_shown(*story[:count])]
        assert shows[0], "from the first message on"
        assert shows[-1] or story[count - 1] is ask, "a dialog has buttons of its own"
    for end in (END, {**END, "cancelled": True}, {"type": "execution_error", "error": "no"}):
        button = Button()
        assert [button.show(one["event"]) for one in all_shown(*story, end)][-1] is False
