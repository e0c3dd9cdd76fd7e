"""Document 001 §3: the user, agent and system events."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "001-3.1-create-session",
        "`user.create_session` creates a session; it needs no other field.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.1-message",
        "`user.message` with `session_id` and `content` says something to a session.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.1-response",
        "`user.response` with `session_id`, `step_id` and `content` answers a confirmation.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.1-cancel",
        "`user.cancel` with `session_id` cancels what runs.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.1-reconnect",
        "`user.reconnect` with `session_id` takes a session up again.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.1-required-fields",
        "A user event without one of its required fields is refused.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "001-3.2-session-created",
        "`agent.session_created` says that a session was created.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-thinking",
        "`agent.thinking` says what the agent thinks.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-tool-call",
        "`agent.tool_call` says that a tool call begins.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-tool-result",
        "`agent.tool_result` says what a tool call gave.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-user-confirm",
        "`agent.user_confirm` asks for a person's confirmation.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-partial-answer",
        "`agent.partial_answer` is a piece of a streamed answer.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-final-answer",
        "`agent.final_answer` is the answer at the end of a turn.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-llm-message",
        "`agent.llm_message` records the conversation with the model.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-error",
        "`agent.error` says that the agent failed.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-interrupted",
        "`agent.interrupted` says that what ran was cancelled.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.2-session-end",
        "`agent.session_end` says that a session has ended.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-3.3-connected",
        "`system.connected` is the first message on a connection.",
        "myagent.md#system-events",
    ),
    Requirement(
        "001-3.3-heartbeat",
        "`system.heartbeat` comes regularly.",
        "myagent.md#system-events",
    ),
    Requirement(
        "001-3.3-error",
        "`system.error` tells of errors that are no session's.",
        "myagent.md#system-events",
    ),
)
