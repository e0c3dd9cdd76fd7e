"""Document 003 §4 to §7: what goes down and comes up, what it is made of, and in which order."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "003-4-prompt-fields",
        "`session.prompt` carries `session_id`, `prompt_id`, `agent_app` and `content`.",
        "agp.md#sessionprompt",
    ),
    Requirement(
        "003-4-prompt-content-is-a-list",
        "A prompt's `content` is a list of content blocks.",
        "agp.md#sessionprompt",
    ),
    Requirement(
        "003-4-agent-app-routes",
        "`agent_app` names the app on the device that the prompt, and its cancel, are for.",
        "agp.md#sessionprompt",
    ),
    Requirement(
        "003-4-cancel-fields",
        "`session.cancel` carries `session_id`, `prompt_id` and `agent_app`.",
        "agp.md#sessioncancel",
    ),
    Requirement(
        "003-5-update-fields",
        "`session.update` carries `session_id`, `prompt_id`, `update_type`, and `content` or"
        " `tool_call`.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-update-types",
        "`update_type` is `message_chunk`, `tool_call` or `tool_call_update`.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-updates-any-number",
        "While a prompt is at work, any number of updates may come.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-message-chunk-is-a-piece-of-the-answer",
        "A `message_chunk` is a piece of the agent's message.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-tool-call",
        "A `tool_call` says that a tool is being called.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-tool-call-update",
        "A `tool_call_update` says that a tool's state has changed.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-update-content-is-one-block",
        "The `content` of an update is one block, not a list.",
        "agp.md#sessionupdate",
    ),
    Requirement(
        "003-5-answer-fields",
        "`session.promptResponse` carries `session_id`, `prompt_id`, `stop_reason`, and may carry"
        " a list of content blocks and an `error`.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-answer-without-content",
        "The final `content` may be left out.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-one-answer-for-a-prompt",
        "Only the first final answer to a `prompt_id` is taken.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-repeated-msg-id-is-dropped",
        "A final answer with a `msg_id` that was seen before is dropped.",
        "agp.md#envelope",
    ),
    Requirement(
        "003-5-end-turn",
        "`end_turn` ends a turn as completed.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-cancelled",
        "`cancelled` ends a turn as cancelled.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-refusal",
        "`refusal` says that the app refused; `error` says why.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-5-error",
        "`error` as a stop reason is a technical fault; `error` describes it.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "003-6-content-block",
        "A content block has a `type`, of which only `text` is defined, and its `text`.",
        "agp.md#contentblock",
    ),
    Requirement(
        "003-6-tool-call-fields",
        "A tool call has `tool_call_id` and `status`, and may have `title`, `kind`, `content` and"
        " `locations`.",
        "agp.md#toolcall",
    ),
    Requirement(
        "003-6-tool-kinds",
        "The kinds of tools are read, edit, delete, execute, search, fetch, think and other.",
        "agp.md#toolcall",
    ),
    Requirement(
        "003-6-tool-statuses",
        "A tool call is pending, in_progress, completed or failed.",
        "agp.md#toolcall",
    ),
    Requirement(
        "003-6-location",
        "A location is a `path` that the tool works on.",
        "agp.md#location",
    ),
    Requirement(
        "003-7-normal-flow",
        "A turn is a prompt, then updates, then the final answer.",
        "agp.md#flow-of-a-turn",
    ),
    Requirement(
        "003-7-cancel-flow",
        "After a cancel the device answers with `stop_reason: cancelled`.",
        "agp.md#flow-of-a-turn",
    ),
)
