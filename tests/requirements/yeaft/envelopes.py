"""Document 002 §1 to §5: principles, envelopes, every wire type, and what `data` holds."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "002-1-type-names",
        "A type names a shape and no brand: every provider's output is `claude_output`.",
        "yeaft.md#principles",
    ),
    Requirement(
        "002-1-flat-envelope",
        "An envelope is flat: `type` and routing fields at the top, the rest in `data` or by name.",
        "yeaft.md#principles",
    ),
    Requirement(
        "002-1-server-does-not-parse",
        "The server routes and does not parse what a message holds.",
        "yeaft.md#principles",
        divergence="envelopes pass unchanged, but are read besides, so that clients of other"
        " protocols can follow the conversation",
    ),
    Requirement(
        "002-1-aliases-stay",
        "Old names (`yeaft_*`, `unify_*`) stay as aliases.",
        "yeaft.md#names",
    ),
    Requirement(
        "002-1-unknown-types-pass",
        "Types that the server does not know pass it in both directions.",
        "yeaft.md#principles",
    ),
    Requirement(
        "002-2-routing-fields",
        "`conversationId`, `agentId` and `sessionId` say where an envelope belongs.",
        "yeaft.md#envelope",
    ),
    Requirement(
        "002-3-both-directions",
        "Web clients and agents talk through the server, each in both directions.",
        "yeaft.md#principles",
    ),
    Requirement(
        "002-4.1-send-message",
        "`send_message` with `conversationId`, `text` and perhaps `attachments` opens a turn.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.1-yeaft-session-chat",
        "`yeaft_session_chat` with `groupId` and `text` speaks to a group.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "002-4.1-cancel-execution",
        "`cancel_execution` stops the running turn of its conversation.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.1-ask-user-answer",
        "`ask_user_answer` answers the question with its `requestId`.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-4.1-create-conversation",
        "`create_conversation` with `provider`, `workDir` and perhaps `options` starts a session.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.1-resume-conversation",
        "`resume_conversation` takes up a session of the past.",
        "yeaft.md#returning-clients",
    ),
    Requirement(
        "002-4.1-delete-conversation",
        "`delete_conversation` ends a session.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.1-list-history-sessions",
        "`list_history_sessions` lists the sessions of a provider and folder that can be resumed.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.1-list-folders",
        "`list_folders` lists the folders in which a provider has sessions.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-4.2-claude-output",
        "`claude_output` with `conversationId` and `data` carries an agent's output.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-4.2-yeaft-output",
        "`yeaft_output` has the same shape and tells virtual persons apart.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-4.2-session-ready",
        "`session_ready` says that a session has started.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "002-4.2-agent-status",
        "`agent_status` tells the state of an agent.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "002-4.2-ask-user-question",
        "`ask_user_question` asks the user for a tool.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-4.2-crew-output",
        "`crew_output` of an agent reaches the user's clients.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "002-4.2-settings-answers",
        "Queries of settings reach the agent, and `llm_config`, `mcp_servers_list`,"
        " `yeaft_settings` and the like reach the client.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "002-4.3-assistant-blocks",
        "An `assistant` message holds blocks of `text`, `thinking` and `tool_use`.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-4.3-tool-result",
        "A `user` message holds the `tool_result` of a `tool_use_id`.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-4.3-result",
        "`result` ends a turn with `subtype`, `session_id`, `is_error`, `duration_ms`,"
        " `total_cost_usd` and `usage`.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-4.3-system",
        "`system` events carry a `subtype`.",
        "yeaft.md#output-data",
    ),
    Requirement(
        "002-5.1-wrapped-as-it-is",
        "A line of Claude's stream-json is wrapped as it is.",
        "yeaft.md#providers",
    ),
    Requirement(
        "002-5.2-translated",
        "Text, thoughts, tool calls, their results and a turn's end of every other kind of machine"
        " have the same shapes.",
        "yeaft.md#providers",
    ),
    Requirement(
        "002-5.2-acp-events",
        "`session/agent_text`, `agent_thought`, `tool_call`, `tool_result` and `turn_complete` of"
        " an ACP agent are translated.",
        "yeaft.md#providers",
    ),
    Requirement(
        "002-5.2-permission-is-a-question",
        "A request for permission is `ask_user_question` and no `claude_output`.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-5.3-engine-events",
        "`text_delta`, `thinking_delta`, `tool_call`, `usage` and `stop` of the Yeaft engine are"
        " translated by its bridge.",
        "yeaft.md#providers",
    ),
    Requirement(
        "002-5.3-persons-by-type",
        "What a virtual person says comes as `yeaft_output`, so that a client can tell them apart.",
        "yeaft.md#output-data",
    ),
)
