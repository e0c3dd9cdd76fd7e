"""The field notes on Semibot, second round: daemons and servers of the deployed kind."""

from tests.requirements.requirement import Requirement

_KIND = "semibot.md#the-deployed-kind"
_SERVER = "semibot.md#deployed-control-planes"

REQUIREMENTS = (
    Requirement(
        "notes-1-known-by-its-habits",
        "A daemon of the deployed kind is known by a request for `__memory__`, an empty `ticket`"
        " or a close with 1009, and its `dialect` is remembered.",
        _KIND,
    ),
    Requirement(
        "notes-1-set-by-hand",
        "The `dialect` of a machine can be set when it is scheduled and later, and its habits do"
        " not change that.",
        _KIND,
    ),
    Requirement(
        "notes-1-others-by-the-document",
        "A machine that shows none of these habits is served by the document, whatever its"
        " messages hold; what a first session of the deployed kind needs is added, and kept from"
        " one that is said to follow the document.",
        _KIND,
    ),
    Requirement(
        "notes-1-history-ends-with-the-message",
        "The deployed kind gets the message itself as the last entry of `history`.",
        _KIND,
    ),
    Requirement(
        "notes-1-frames-of-1-mib",
        "The deployed kind is sent frames of at most 1 MiB.",
        _KIND,
    ),
    Requirement(
        "notes-1-no-snapshot",
        "A `start_session` of the deployed kind has no `snapshot`.",
        _KIND,
    ),
    Requirement(
        "notes-1-packages-are-trimmed",
        "A package that is too large is sent with SKILL.md, REFERENCE.md, manifest, `scripts` and"
        " `references` only.",
        _KIND,
    ),
    Requirement(
        "notes-1-too-large-is-failed",
        "A result that is too large all the same is failed with `RESULT_TOO_LARGE`, in"
        " `resume_response` too.",
        _KIND,
    ),
    Requirement(
        "notes-1-a-frame-a-token",
        "Events of the deployed kind's sessions with an open turn are not counted.",
        _KIND,
    ),
    Requirement(
        "notes-1-held-back-by-the-log",
        "Events that are not counted are read no faster than the log takes them.",
        _KIND,
    ),
    Requirement(
        "notes-1-all-else-is-counted",
        "Everything else of the deployed kind counts, and 1000 messages a minute mean 4029.",
        _KIND,
    ),
    Requirement(
        "notes-1-memory-is-the-users",
        "`memory_search` and `memory_write` with the session `__memory__` are the user's memory.",
        "semibot-methods.md#the-users-memory",
    ),
    Requirement(
        "notes-1-config-update-has-all-in-data",
        "A `config_update` of the deployed kind has `session_id` and a whole `agent_config` in its"
        " data, beside the documented fields.",
        _KIND,
    ),
    Requirement(
        "notes-1-empty-ticket",
        "An empty `ticket` means that there is none.",
        "semibot.md#connection",
    ),
    Requirement(
        "notes-1-unlisted-turns-end",
        "Open turns of a session that a new line's first `heartbeat` does not list end with"
        " `MACHINE_RESTARTED`, and one without `active_sessions` says nothing.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "notes-1-mcp-entries",
        "MCP entries of the deployed kind have `id`, `endpoint`, `transport`, `available_tools` and"
        " `auth_config` beside ours.",
        _KIND,
    ),
    Requirement(
        "notes-1-default-model",
        "A VM that names no capability always finds a `default_model` in `llm_config`.",
        "semibot.md#init",
    ),
    Requirement(
        "notes-1-agent-id",
        "A `start_session` of the deployed kind has an `agent_id`.",
        _KIND,
    ),
    Requirement(
        "notes-1-whole-text-at-the-end",
        "A reader that missed pieces finds the whole text in `final_response`.",
        "events.md#event-types",
    ),
    Requirement(
        "notes-1-own-daemon-drops-the-repeated-message",
        "Our daemon drops a last entry of `history` that equals the message.",
        _SERVER,
    ),
    Requirement(
        "notes-1-server-config-update",
        "Our daemon takes `agent_config`, `llm_config` and `api_keys` from a `config_update`.",
        _SERVER,
    ),
    Requirement(
        "notes-1-server-mcp-entries",
        "Our daemon takes MCP entries without `type`, by `transport` and `endpoint`, and calls a"
        " remote server by its `id`.",
        _SERVER,
    ),
    Requirement(
        "notes-1-server-unsupported-method",
        "Our daemon understands `UNSUPPORTED_METHOD`.",
        _SERVER,
    ),
)
