"""Document 004 §3.1: the WebSocket client, `ControlPlaneClient`."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-3.1-first-address",
        "The first connection's address has `user_id` and `ticket`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-return-address",
        "A reconnection's address has `user_id` and no ticket.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-token-in-the-first-frame",
        "The token travels in the first frame, `auth`, and never in an address.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-connect-gives-init",
        "`connect` waits for `init` and gives its data.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-request-fields",
        "A request goes up with an id of its own, its `session_id`, `method` and `params`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-response-by-id",
        "A `response` ends the request whose id it has, whatever the order of answers.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-error-response",
        "A `response` with an error fails its request with that code and message.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-request-timeout",
        "A request without an answer ends with a timeout after 60 seconds, unless its method has"
        " a limit of its own.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-timed-out-is-forgotten",
        "A request that timed out is forgotten: no `resume` asks for it.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-fire-and-forget-fields",
        "A report goes up as `fire_and_forget` with `session_id`, `method` and `params`, and nobody"
        " waits for an answer.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-sse-event-fields",
        "An event goes up as `sse_event` with its `session_id` and its JSON text in `data`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-user-message-to-its-session",
        "A `user_message` reaches the handler of its session and of no other.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-cancel-to-its-session",
        "A `cancel` reaches the handler of its session and of no other.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-start-and-stop-to-the-machine",
        "`start_session` and `stop_session` reach the machine's own handlers.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-handlers-do-not-block",
        "A handler that takes long holds up neither the reading of the line nor other sessions.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-unregistered-session",
        "After `unregister_session` a session's messages reach its handlers no more.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-heartbeat",
        "A heartbeat goes up every 10 seconds, one for the machine and not one for each session.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-reconnect-delays",
        "Between attempts the client waits 1, 2, 4, 8, 16, 30, 30, 30 seconds, with jitter.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-reconnects-for-ever",
        "After the last of these delays it goes on trying every 30 seconds.",
        "execution.md#line-client",
        divergence="the document's client gives up after the eighth delay",
    ),
    Requirement(
        "004-3.1-auth-init-resume",
        "A returned line begins with `auth`, waits for `init`, and then sends `resume`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-resume-lists-pending",
        "`resume` names every unanswered request of every session.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-resume-completed",
        "A request that is `completed` in `resume_response` ends with its `data`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-resume-not-found",
        "A request that was lost with the line is sent again, and its caller notices nothing.",
        "execution.md#line-client",
        divergence="the document's sketch fails such a request; its wire says that it is sent"
        " again",
    ),
    Requirement(
        "004-3.1-retries-exhausted",
        "When all of the delays passed in vain, pending requests end with ConnectionError.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-get-skill-package",
        "`get_skill_package` asks with `skill_id` and `version`, `latest` by default.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-search-long-term-memory",
        "`search_long_term_memory` asks `memory_search` with `query` and `top_k`, 5 by default.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-call-remote-mcp",
        "`call_remote_mcp` asks `mcp_call` with `server`, `tool` and `arguments`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-report-usage",
        "`report_usage` sends `usage_report` with `model`, `tokens_in` and `tokens_out`.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-submit-evolution",
        "`submit_evolution` sends `evolution_submit` with the fields of the skill.",
        "execution.md#line-client",
    ),
    Requirement(
        "004-3.1-log-audit",
        "`log_audit` sends `audit_log` with `event` and `details`.",
        "execution.md#line-client",
    ),
)
