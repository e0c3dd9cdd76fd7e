"""Document 000 §4: what an execution plane sends, and what the control plane makes of it."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "000-4.1-heartbeat-fields",
        "`heartbeat` lists the sessions that run on the VM in `active_sessions`.",
        "semibot.md#heartbeat",
    ),
    Requirement(
        "000-4.1-heartbeat-every-10s",
        "The VM sends a heartbeat every 10 seconds.",
        "semibot.md#heartbeat",
    ),
    Requirement(
        "000-4.1-heartbeat-keeps-the-line",
        "Heartbeats keep a line alive that is silent otherwise; one that misses them is closed.",
        "semibot.md#heartbeat",
    ),
    Requirement(
        "000-4.1-active-sessions-count",
        "What runs on a VM is what its heartbeat lists: a listed session is not started again.",
        "semibot.md#heartbeat",
    ),
    Requirement(
        "000-4.2-sse-event-fields",
        "`sse_event` carries `session_id` and, in `data`, an event as JSON text.",
        "semibot.md#sse_event",
    ),
    Requirement(
        "000-4.2-event-to-its-session",
        "An event reaches the readers of its session and no others.",
        "semibot.md#sse_event",
    ),
    Requirement(
        "000-4.2-data-not-parsed",
        "`data` is written to readers as it came, whatever it holds.",
        "semibot.md#sse_event",
    ),
    Requirement(
        "000-4.3-request-fields",
        "`request` carries `session_id`, `id`, `method` and `params`.",
        "semibot.md#request",
    ),
    Requirement(
        "000-4.3-answer-has-the-requests-id",
        "Every request is answered by one `response` with its `id`.",
        "semibot.md#request",
    ),
    Requirement(
        "000-4.3-get-skill-package",
        "`get_skill_package {skill_id, version?}` answers `{package: {skill_id, version, files:"
        " [{path, content, encoding}], file_inventory}}`.",
        "semibot-methods.md#get_skill_package",
    ),
    Requirement(
        "000-4.3-skill-version-optional",
        "Without `version`, the newest one is answered.",
        "semibot-methods.md#get_skill_package",
    ),
    Requirement(
        "000-4.3-memory-search",
        "`memory_search {query, top_k?}` answers `{results: [{content, score, metadata}]}`.",
        "semibot-methods.md#memory_search",
    ),
    Requirement(
        "000-4.3-mcp-call",
        "`mcp_call {server, tool, arguments}` calls the tool and answers `{result}`.",
        "semibot-methods.md#mcp_call",
    ),
    Requirement(
        "000-4.3-get-config",
        "`get_config {agent_id}` answers `{config}`.",
        "semibot-methods.md#get_config",
    ),
    Requirement(
        "000-4.3-get-session",
        "`get_session {session_id}` answers `{session, agent}`.",
        "semibot-methods.md#get_session",
    ),
    Requirement(
        "000-4.4-fire-and-forget-fields",
        "`fire_and_forget` carries `session_id`, `method` and `params`.",
        "semibot.md#fire_and_forget",
    ),
    Requirement(
        "000-4.4-no-response",
        "A `fire_and_forget` is never answered.",
        "semibot.md#fire_and_forget",
    ),
    Requirement(
        "000-4.4-usage-report",
        "`usage_report {model, tokens_in, tokens_out, latency_ms?}` is counted.",
        "semibot-methods.md#usage_report",
    ),
    Requirement(
        "000-4.4-audit-log",
        "`audit_log {event, details}` is written to the audit log.",
        "semibot-methods.md#audit_log",
    ),
    Requirement(
        "000-4.4-evolution-submit",
        "`evolution_submit {name, description, skill_md, quality_score}` is queued for a decision.",
        "semibot-methods.md#evolution_submit",
    ),
    Requirement(
        "000-4.4-snapshot-sync",
        "`snapshot_sync {checkpoint, short_term_memory, conversation_state?, file_manifest?}` is"
        " kept and used when the session is started anew.",
        "semibot-methods.md#snapshot_sync",
    ),
    Requirement(
        "000-4.5-resume-fields",
        "`resume` lists unanswered requests in `pending_ids`.",
        "semibot.md#resume",
    ),
    Requirement(
        "000-4.5-resume-over-all-sessions",
        "One `resume` asks for requests of all sessions of the VM.",
        "semibot.md#resume",
    ),
)
