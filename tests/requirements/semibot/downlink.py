"""Document 000 §5: what the control plane sends."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "000-5.1-init-fields",
        "`init.data` has `user_id`, `org_id` and `api_keys` by provider.",
        "semibot.md#init",
    ),
    Requirement(
        "000-5.1-init-comes-first",
        "`init` is the first message after authentication.",
        "semibot.md#init",
    ),
    Requirement(
        "000-5.2-start-session-fields",
        "`start_session.data` has `session_id`, `runtime_type`, `agent_config`, `skill_index`,"
        " `mcp_servers`, `sub_agents`, `session_config` and `openclaw_config`.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-sent-for-a-new-session",
        "A new session is started on its VM at once.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-agent-config",
        "`agent_config` has the agent's system_prompt, model, temperature and max_tokens.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-skill-index",
        "`skill_index` entries have id, name, description, version, source, file_inventory and"
        " requires.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-mcp-servers",
        "`mcp_servers` names remote servers only by name and type; local ones have their command.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-sub-agents",
        "`sub_agents` entries have id, name and description.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-session-config",
        "`session_config` has max_turns and timeout_seconds.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-runtime-type-default",
        "`runtime_type` is `semigraph` unless something else was chosen.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-openclaw-config",
        "`openclaw_config` carries `tool_profile` and `skills` to an `openclaw` session.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.2-openclaw-config-optional",
        "`openclaw_config` may be missing.",
        "semibot.md#start_session",
    ),
    Requirement(
        "000-5.3-stop-session-fields",
        "`stop_session.data` has `session_id` and `reason`.",
        "semibot.md#stop_session",
    ),
    Requirement(
        "000-5.3-reasons",
        "The reason of a stop is `user_closed`, `timeout` or `admin`.",
        "semibot.md#stop_session",
    ),
    Requirement(
        "000-5.4-response-success",
        "A successful `response` has `id`, `result` and a null `error`.",
        "semibot.md#response",
    ),
    Requirement(
        "000-5.4-response-failure",
        "A failed `response` has `id`, a null `result` and `error {code, message}`.",
        "semibot.md#response",
    ),
    Requirement(
        "000-5.4-skill-not-found",
        "An unknown skill is `SKILL_NOT_FOUND`.",
        "semibot.md#response",
    ),
    Requirement(
        "000-5.5-user-message-fields",
        "`user_message` has `session_id` and `data {message, history, metadata}`.",
        "semibot.md#user_message",
    ),
    Requirement(
        "000-5.5-message-to-its-session",
        "A user's message goes down with the id of its session.",
        "semibot.md#user_message",
    ),
    Requirement(
        "000-5.5-history",
        "`history` holds what was said before, by role, without the message itself.",
        "semibot.md#user_message",
    ),
    Requirement(
        "000-5.5-metadata",
        "`metadata` is what the client gave.",
        "semibot.md#user_message",
    ),
    Requirement(
        "000-5.6-cancel-fields",
        "`cancel` has `session_id` and `reason`.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-user-stops",
        "A user's stop makes the control plane send `cancel`.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-one-session-only",
        "A cancel names one session; the others of the VM go on.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-runtime-is-cancelled",
        "The VM calls the runtime's cancel for that session.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-model-stream-is-closed",
        "The stream from the model is closed at once and no new token appears.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-tools-best-effort",
        "Running tools are cancelled as far as possible; finished results stay.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-ends-with-execution-complete",
        "A cancelled turn ends with `execution_complete` and `cancelled: true`, which readers get.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-no-cancelled-event",
        "That is its only end: there is no event type `cancelled`.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-state-is-saved",
        "After a cancel, checkpoint and short-term memory are saved for the next turn.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-idempotent",
        "Cancelling what is finished or cancelled already has no effect and is no error.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-reason-audited",
        "The reason of a cancel stands in the audit log.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-reason-optional",
        "Without a reason it is `user_cancelled`; `timeout` and `admin` are known too.",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.6-bridge-reports-the-end",
        "The OpenClaw bridge stops its run and reports `execution_complete` (cancelled).",
        "semibot.md#cancel",
    ),
    Requirement(
        "000-5.7-config-update-fields",
        "`config_update` has `session_id` and the changed parameters in `data`.",
        "semibot.md#config_update",
    ),
    Requirement(
        "000-5.7-while-it-runs",
        "Parameters change while the session runs, on the line that is up.",
        "semibot.md#config_update",
    ),
    Requirement(
        "000-5.8-resume-response-fields",
        "`resume_response.results` has an entry with a `status` for every pending id.",
        "semibot.md#resume_response",
    ),
    Requirement(
        "000-5.8-completed-with-data",
        "A request that was finished is `completed`, with its result in `data`.",
        "semibot.md#resume_response",
    ),
    Requirement(
        "000-5.8-not-found",
        "A request that nothing is known of is `not_found`.",
        "semibot.md#resume_response",
    ),
)
