"""The field notes on Yeaft: what deployed agents and web clients do beyond document 002."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-3-agent-address",
        "An agent's address has `type=agent`, `id`, `name`, `instanceId`, `workDir`, `platform` and"
        " `capabilities`.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "notes-3-agent-handshake",
        "`auth_required {tempId}` is answered by `auth` with the secret, and that by `registered"
        " {agentId, sessionKey: null, acceptPlaintext: true}`.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "notes-3-auth-within-30-s",
        "An agent has 30 s for its `auth`.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "notes-3-sync-first",
        "An agent says what it had kept, then `agent_sync_complete`; what it knows of is not said"
        " to it again.",
        "yeaft.md#returning-agents",
    ),
    Requirement(
        "notes-3-refused-is-1008",
        "A wrong secret, and a newer line of the same agent, close a line with 1008.",
        "yeaft.md#close-codes",
    ),
    Requirement(
        "notes-3-web-handshake",
        "A web client shows a cookie or `?token=`, hears `auth_result`, says `client_hello` and"
        " hears `client_hello_ack`.",
        "yeaft.md#web-handshake",
    ),
    Requirement(
        "notes-3-chat",
        "`chat {prompt, conversationId, workDir, clientMessageId}` opens a turn like"
        " `send_message`.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "notes-3-session-send",
        "`yeaft_session_send` is the same as `yeaft_session_chat`.",
        "yeaft.md#names",
    ),
    Requirement(
        "notes-3-sync-messages",
        "`sync_messages` gives a page of a conversation's messages.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "notes-3-ping-session",
        "`ping_session` tells whether a conversation lives.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "notes-3-created-with-both-dialects",
        "`create_conversation` tells an agent `conversationId`, `workDir`, `userId`, `username`,"
        " `provider` and its options under the names of both dialects.",
        "yeaft.md#messages-to-agents",
    ),
    Requirement(
        "notes-3-deployed-agent",
        "An agent that answers `conversation_created` is given `execute {conversationId, prompt}`,"
        " and its turn ends with `turn_completed` or `execution_cancelled`.",
        "yeaft.md#dialects",
    ),
    Requirement(
        "notes-3-transfer-files",
        "A deployed agent gets files by `transfer_files`.",
        "yeaft.md#messages-to-agents",
    ),
    Requirement(
        "notes-3-first-answer-tells",
        "Nothing but `create_conversation` is said to an agent before its answer tells which"
        " dialect it speaks.",
        "yeaft.md#messages-to-agents",
    ),
    Requirement(
        "notes-3-clients-own-names",
        "A web client is told the document's names, and the deployed ones if it used those first.",
        "yeaft.md#dialects",
    ),
    Requirement(
        "notes-3-questions-and-answers",
        "A question may come as `questions`, and its answer go back as `answers`.",
        "yeaft.md#questions",
    ),
    Requirement(
        "notes-3-agents-buffer",
        "An agent keeps 5000 messages and 8 MiB for a server that is away, and never drops the end"
        " of a turn.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "notes-3-silent-for-180-s",
        "An agent is gone when it was silent for 180 s; its pings count.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "notes-3-all",
        "`@all` addresses everyone; a group has 16 persons at most.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "notes-3-guard",
        "Persons that keep each other talking are stopped: 30 answers deep, or 8 hits in 5 s.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "notes-3-acp-names",
        "ACP agents are understood under the names of the document and of `session/update`.",
        "yeaft.md#providers",
    ),
)
