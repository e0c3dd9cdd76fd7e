"""Document 003 §4 to §7: what goes down and comes up, what it is made of, and in which order."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "003-4-prompt-fields",
        "`session.prompt` carries `session_id`, `prompt_id`, `agent_app` and `content`.",
    ),
    Requirement(
        "003-4-prompt-content-is-a-list",
        "A prompt's `content` is a list of content blocks.",
    ),
    Requirement(
        "003-4-agent-app-routes",
        "`agent_app` names the app on the device that the prompt, and its cancel, are for.",
    ),
    Requirement(
        "003-4-cancel-fields",
        "`session.cancel` carries `session_id`, `prompt_id` and `agent_app`.",
    ),
    Requirement(
        "003-5-update-fields",
        "`session.update` carries `session_id`, `prompt_id`, `update_type`, and `content` or"
        " `tool_call`.",
    ),
    Requirement(
        "003-5-update-types",
        "`update_type` is `message_chunk`, `tool_call` or `tool_call_update`.",
    ),
    Requirement(
        "003-5-updates-any-number",
        "While a prompt is at work, any number of updates may come.",
    ),
    Requirement(
        "003-5-message-chunk-is-a-piece-of-the-answer",
        "A `message_chunk` is a piece of the agent's message.",
    ),
    Requirement(
        "003-5-tool-call",
        "A `tool_call` says that a tool is being called.",
    ),
    Requirement(
        "003-5-tool-call-update",
        "A `tool_call_update` says that a tool's state has changed.",
    ),
    Requirement(
        "003-5-update-content-is-one-block",
        "The `content` of an update is one block, not a list.",
    ),
    Requirement(
        "003-5-answer-fields",
        "`session.promptResponse` carries `session_id`, `prompt_id`, `stop_reason`, and may carry"
        " a list of content blocks and an `error`.",
    ),
    Requirement(
        "003-5-answer-without-content",
        "The final `content` may be left out.",
    ),
    Requirement(
        "003-5-one-answer-for-a-prompt",
        "Only the first final answer to a `prompt_id` is taken.",
    ),
    Requirement(
        "003-5-repeated-msg-id-is-dropped",
        "A final answer with a `msg_id` that was seen before is dropped.",
    ),
    Requirement(
        "003-5-end-turn",
        "`end_turn` ends a turn as completed.",
    ),
    Requirement(
        "003-5-cancelled",
        "`cancelled` ends a turn as cancelled.",
    ),
    Requirement(
        "003-5-refusal",
        "`refusal` says that the app refused; `error` says why.",
    ),
    Requirement(
        "003-5-error",
        "`error` as a stop reason is a technical fault; `error` describes it.",
    ),
    Requirement(
        "003-6-content-block",
        "A content block has a `type`, of which only `text` is defined, and its `text`.",
    ),
    Requirement(
        "003-6-tool-call-fields",
        "A tool call has `tool_call_id` and `status`, and may have `title`, `kind`, `content` and"
        " `locations`.",
    ),
    Requirement(
        "003-6-tool-kinds",
        "The kinds of tools are read, edit, delete, execute, search, fetch, think and other.",
    ),
    Requirement(
        "003-6-tool-statuses",
        "A tool call is pending, in_progress, completed or failed.",
    ),
    Requirement(
        "003-6-location",
        "A location is a `path` that the tool works on.",
    ),
    Requirement(
        "003-7-normal-flow",
        "A turn is a prompt, then updates, then the final answer.",
    ),
    Requirement(
        "003-7-cancel-flow",
        "After a cancel the device answers with `stop_reason: cancelled`.",
    ),
)
