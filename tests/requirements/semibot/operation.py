"""Document 000 §8 to §10: errors and close codes, security, limits, metrics."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "000-8-request-timeout-60s",
        "A request that takes longer than 60 s is answered with an error.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-timeout-per-method",
        "Every method can have a time limit of its own.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-mcp-timeout-is-the-servers",
        "An MCP call has the time limit of its server.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-malformed-message-is-skipped",
        "A malformed message is skipped; the line stays open.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-malformed-message-is-logged",
        "A malformed message is logged as a warning.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-unknown-session-is-an-error-message",
        "A message for a session that does not exist gets an error; the line stays open.",
        "semibot.md#errors-and-timeouts",
    ),
    Requirement(
        "000-8-close-code-table",
        "The close codes have the document's numbers.",
        "semibot.md#close-codes",
    ),
    Requirement(
        "000-8-close-4001",
        "4001: authentication failed.",
        "semibot.md#close-codes",
    ),
    Requirement(
        "000-8-close-4004",
        "4004: the user does not exist.",
        "semibot.md#close-codes",
    ),
    Requirement(
        "000-8-close-4008",
        "4008: the execution plane was not there in time.",
        "semibot.md#close-codes",
        divergence="in the document a VM that never came; such a VM has no line to close, so"
        " here it is a line that fell silent for 30 s",
    ),
    Requirement(
        "000-8-close-4029",
        "4029: rate limited.",
        "semibot.md#close-codes",
    ),
    Requirement(
        "000-8-close-4500",
        "4500: an internal error of the control plane.",
        "semibot.md#close-codes",
    ),
    Requirement(
        "000-9-first-frame-must-be-auth",
        "The first frame is `auth`; anything else, or nothing, ends the line with 4001.",
        "semibot.md#auth",
        divergence="the document gives no code for a first frame that does not come; here it"
        " is 4001 too",
    ),
    Requirement(
        "000-9-auth-message-fields",
        "`auth` carries the token.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-9-token-is-checked",
        "Forged, foreign and expired tokens end the line with 4001.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-9-token-signed-rs256",
        "Tokens are JWTs signed with RS256.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-9-token-opens-all-sessions-of-its-user",
        "A VM's token gives access to the data of every session of that user, and of nobody else.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-9-token-issued-at-scheduling",
        "The token is issued when a VM is scheduled and names user and org.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-9-ticket-issued-at-scheduling",
        "The ticket is made when a VM is scheduled.",
        "semibot.md#security",
    ),
    Requirement(
        "000-9-ticket-30s",
        "A ticket is valid for 30 seconds.",
        "semibot.md#security",
    ),
    Requirement(
        "000-9-ticket-once",
        "A ticket is valid once, also in a race.",
        "semibot.md#security",
    ),
    Requirement(
        "000-9-reconnection-by-token-alone",
        "A reconnection is authenticated by its token alone.",
        "semibot.md#security",
    ),
    Requirement(
        "000-9-api-keys-encrypted",
        "API keys travel encrypted in `init`.",
        "semibot.md#api-keys",
    ),
    Requirement(
        "000-9-api-keys-in-memory-only",
        "The VM decrypts API keys in memory and never writes them to disk.",
        "semibot.md#api-keys",
    ),
    Requirement(
        "000-9-api-keys-shared",
        "All sessions of a user share one set of API keys.",
        "semibot.md#init",
    ),
    Requirement(
        "000-9-frame-10-mb",
        "A frame has at most 10 MB.",
        "semibot.md#limits",
    ),
    Requirement(
        "000-9-rate-1000-a-minute",
        "A connection may send 1000 messages a minute.",
        "semibot.md#limits",
    ),
    Requirement(
        "000-10-ws-connections-active",
        "Gauge `ws_connections_active`: live lines.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-ws-sessions-per-connection",
        "Gauge `ws_sessions_per_connection` by user_id: sessions on a line.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-ws-messages-sent-total",
        "Counter `ws_messages_sent_total` by type.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-ws-messages-received-total",
        "Counter `ws_messages_received_total` by type.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-ws-reconnections-total",
        "Counter `ws_reconnections_total`.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-ws-request-duration-seconds",
        "Histogram `ws_request_duration_seconds` by method.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-sse-buffer-size",
        "Gauge `sse_buffer_size` by session_id.",
        "semibot.md#metrics",
    ),
    Requirement(
        "000-10-sse-events-forwarded-total",
        "Counter `sse_events_forwarded_total`.",
        "semibot.md#metrics",
    ),
)
