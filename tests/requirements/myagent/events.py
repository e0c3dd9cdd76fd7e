"""Document 001 §3: the user, agent and system events."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "001-3.1-create-session",
        "`user.create_session` creates a session; it needs no other field.",
    ),
    Requirement(
        "001-3.1-message",
        "`user.message` with `session_id` and `content` says something to a session.",
    ),
    Requirement(
        "001-3.1-response",
        "`user.response` with `session_id`, `step_id` and `content` answers a confirmation.",
    ),
    Requirement(
        "001-3.1-cancel",
        "`user.cancel` with `session_id` cancels what runs.",
    ),
    Requirement(
        "001-3.1-reconnect",
        "`user.reconnect` with `session_id` takes a session up again.",
    ),
    Requirement(
        "001-3.1-required-fields",
        "A user event without one of its required fields is refused.",
    ),
    Requirement(
        "001-3.2-session-created",
        "`agent.session_created` says that a session was created.",
    ),
    Requirement(
        "001-3.2-thinking",
        "`agent.thinking` says what the agent thinks.",
    ),
    Requirement(
        "001-3.2-tool-call",
        "`agent.tool_call` says that a tool call begins.",
    ),
    Requirement(
        "001-3.2-tool-result",
        "`agent.tool_result` says what a tool call gave.",
    ),
    Requirement(
        "001-3.2-user-confirm",
        "`agent.user_confirm` asks for a person's confirmation.",
    ),
    Requirement(
        "001-3.2-partial-answer",
        "`agent.partial_answer` is a piece of a streamed answer.",
    ),
    Requirement(
        "001-3.2-final-answer",
        "`agent.final_answer` is the answer at the end of a turn.",
    ),
    Requirement(
        "001-3.2-llm-message",
        "`agent.llm_message` records the conversation with the model.",
    ),
    Requirement(
        "001-3.2-error",
        "`agent.error` says that the agent failed.",
    ),
    Requirement(
        "001-3.2-interrupted",
        "`agent.interrupted` says that what ran was cancelled.",
    ),
    Requirement(
        "001-3.2-session-end",
        "`agent.session_end` says that a session has ended.",
    ),
    Requirement(
        "001-3.3-connected",
        "`system.connected` is the first message on a connection.",
    ),
    Requirement(
        "001-3.3-heartbeat",
        "`system.heartbeat` comes regularly.",
    ),
    Requirement(
        "001-3.3-error",
        "`system.error` tells of errors that are no session's.",
    ),
)
