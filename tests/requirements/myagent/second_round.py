"""The field notes on MyAgent, second round: what the deployed page and its clients stumble over."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-2-busy",
        "Every turn begins with one `agent.thinking`, and so does following a running turn: from"
        " then on a page shows work and the button that stops it.",
        "myagent.md#flows",
    ),
    Requirement(
        "notes-2-confirm-dialog",
        '`agent.user_confirm` has `scope: "tool"` and a `plan_summary` with tool and arguments in'
        " `metadata`: a page's dialog shows nothing else.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-own-reconnect",
        "A connection whose user's last one broke off in mid-turn goes on where that stood, if"
        " nobody else follows; a later `user.reconnect` repeats nothing.",
        "myagent.md#a-connection-that-broke-off",
    ),
    Requirement(
        "notes-2-plan-commands",
        "`user.replan` with a question is a message, `user.cancel_plan` a cancel;"
        " `user.solve_tasks`, `user.cancel_task` and `user.restart_task` are answered with"
        " `system.notice`.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-joined",
        "Pieces of an answer are joined to at most one `agent.partial_answer` per 75 ms; none is"
        " dropped, and they stay before what follows them.",
        "myagent.md#pieces-of-an-answer",
    ),
    Requirement(
        "notes-2-silently-accepted",
        "`user.ack` without a position and a late `user.response` are accepted without a word.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-show-content",
        "`agent.tool_call` has `show_content`: what a person reads of it.",
        "myagent.md#message-form",
    ),
    Requirement(
        "notes-2-connection-id",
        "Every message down has its `connection_id` in `metadata`.",
        "myagent.md#message-form",
    ),
    Requirement(
        "notes-2-state-message-count",
        "`agent.state_restored` has `message_count` in `metadata`.",
        "myagent.md#signed-state",
    ),
    Requirement(
        "notes-2-turn-steps",
        "Thoughts, pieces and the answer of a turn have a `step_id`.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "notes-2-solver-title",
        "`solver.*` has its task's title as `content.task.title`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-plan-completed",
        "`plan.completed` has `task_count` and `plan_summary` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-event-list",
        "Each event of the page's list is produced where it makes sense, or listed as never"
        " produced.",
        "myagent.md#events-that-are-never-sent",
    ),
)
