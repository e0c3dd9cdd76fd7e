"""The field notes on MyAgent: what deployed clients and servers do beyond document 001."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-2-seq",
        "Every message down has `seq`, from 1 on its connection, and `event_id`,"
        " `<connection_id>-<seq>`.",
        "myagent.md#message-form",
    ),
    Requirement(
        "notes-2-ack",
        "`user.ack` says how far a client has come: `last_seq` or `last_event_id`, in `content` or"
        " `metadata`.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-state-exported",
        "`user.request_state` is answered by `agent.state_exported`.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-state-restored",
        "`user.reconnect_with_state` with `signed_state` is answered by `agent.state_restored`, and"
        " the session goes on.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-signed-state-form",
        'A signed state is `{state, timestamp, signature, version: "1.0", checksum}`.',
        "myagent.md#signed-state",
    ),
    Requirement(
        "notes-2-signed-state-hmac",
        "A signed state is signed with HMAC-SHA-256; one that was changed is refused.",
        "myagent.md#signed-state",
    ),
    Requirement(
        "notes-2-signed-state-seven-days",
        "A signed state counts for seven days.",
        "myagent.md#signed-state",
    ),
    Requirement(
        "notes-2-signed-state-bounds",
        "A signed state has at most 100 messages and 100 KB.",
        "myagent.md#signed-state",
    ),
    Requirement(
        "notes-2-replay",
        "`user.reconnect` replays what the client missed after `last_seq` or `last_event_id`, on"
        " the new connection.",
        "myagent.md#positions",
    ),
    Requirement(
        "notes-2-reconnect-in-content",
        "`user.reconnect` may carry `session_id` and `last_seq` in `content`.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-confirm-metadata",
        "`agent.user_confirm` has `tool_name`, `tool_description`, `tool_args`,"
        " `requires_confirmation`, `timeout_seconds` and `critical` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-confirm-content",
        "`agent.user_confirm` has `message`, `confirmation_type` (`approve`, `select` or `input`)"
        " and perhaps `options` as `content`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-confirm-answers",
        "A confirmation is answered with `confirmed`, `approved`, a bare boolean, or yes or no in"
        " words.",
        "myagent.md#answers",
    ),
    Requirement(
        "notes-2-confirm-300-s",
        "A question that nobody answers within 300 s is answered with no.",
        "myagent.md#answers",
    ),
    Requirement(
        "notes-2-one-turn-at-a-time",
        "A second `user.message` while a turn runs is an `agent.error`, and nothing happens.",
        "myagent.md#events-from-a-client",
    ),
    Requirement(
        "notes-2-pieces-are-deltas",
        "Pieces of an answer are deltas: put together they are the answer, and none is dropped.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-content-is-text",
        "The `content` of thoughts, pieces, answers, errors, interruptions, and of a session's"
        " beginning and end is a text.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-chunk-index",
        "`agent.partial_answer` counts its pieces from 0 in each turn: `chunk_index`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-thinking-type",
        "`agent.thinking` says which `thinking_type` it is: `analysis`, `planning` or `reasoning`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-thinking-model",
        "`agent.thinking` names the model that thinks.",
        "myagent.md#differences-from-the-source-document",
        reason="no machine says of a thought which model had it; the answer has `metadata.model`",
    ),
    Requirement(
        "notes-2-final-answer",
        "`agent.final_answer` has `answer_type`, `model`, `total_tokens_used` and"
        " `generation_time_ms` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-answer-types",
        "`answer_type` is `text`, `json`, `code` or `structured`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-session-created",
        "`agent.session_created` has `agent_name` and `agent_type` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-session-end",
        "`agent.session_end` has `reason` and `total_duration_ms` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-tool-call",
        "`agent.tool_call` has `tool_name`, `tool_description` and `arguments` as `content`, and"
        ' `call_id`, `tool_type`, `tool`, `args` and `status: "running"` in `metadata`.',
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-tool-result",
        "`agent.tool_result` has `result` and `status` (`success` or `failed`) as `content`, and"
        " `call_id`, `execution_time_ms`, `tool`, `status` and `error` in `metadata`.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "notes-2-connected",
        "`system.connected` has `connection_id` beside its `content` `{server_version,"
        " server_time}`, and `server_uptime_seconds` and `active_sessions` in `metadata`.",
        "myagent.md#system-events",
    ),
    Requirement(
        "notes-2-heartbeat-seq",
        "`system.heartbeat` has `seq` in `metadata`.",
        "myagent.md#system-events",
    ),
    Requirement(
        "notes-2-error-severity",
        "An error has `error_code` and `severity` in `metadata`.",
        "myagent.md#errors",
    ),
    Requirement(
        "notes-2-typed-shape",
        "A connection with `?shape=typed` gets `{answer, answer_type}` as the `content` of"
        " `agent.final_answer`.",
        "myagent.md#connection",
    ),
    Requirement(
        "notes-2-plans",
        "A runtime's plans are `plan.*` and `solver.*` events with a `step_id`.",
        "myagent.md#events-to-a-client",
    ),
)
