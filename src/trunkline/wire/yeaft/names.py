"""The names of the Yeaft wire (docs/protocols/yeaft.md#names): a released name never changes.

A new one goes into the golden list of its test too. Old names stay, as aliases.
"""

from typing import Final

FROM_CLIENTS: Final = (
    "send_message",
    "yeaft_session_chat",
    "cancel_execution",
    "ask_user_answer",
    "create_conversation",
    "resume_conversation",
    "delete_conversation",
    "list_history_sessions",
    "list_folders",
)
"""What a user does."""

FROM_AGENTS: Final = (
    "claude_output",
    "yeaft_output",
    "session_ready",
    "agent_status",
    "ask_user_question",
    "crew_output",
    "llm_config",
    "mcp_servers_list",
    "yeaft_settings",
)
"""What an agent says."""

HANDSHAKE: Final = (
    "auth_required",
    "auth",
    "registered",
    "agent_sync_complete",
    "auth_result",
    "client_hello",
    "client_hello_ack",
)

DEPLOYED: Final = (
    "chat",
    "execute",
    "transfer_files",
    "conversation_list",
    "conversation_created",
    "conversation_resumed",
    "conversation_closed",
    "conversation_deleted",
    "session_id_update",
    "turn_completed",
    "execution_cancelled",
    "context_usage",
    "slash_commands_update",
    "history_sessions_list",
    "folders_list",
    "sync_messages",
    "sync_messages_result",
    "ping_session",
    "error",
)
"""Names of deployed software that the source document does not have."""

SERVERS: Final = frozenset(
    (
        "auth_required",
        "registered",
        "auth_result",
        "client_hello_ack",
        "agents_list",
        "agent_list",
        "agent_selected",
        "ask_user_answered",
        "conversation_delete_result",
        "conversation_pinned",
        "conversation_refresh",
        "conversation_selected",
        "conversations_list",
        "event_position",
        "file_tabs_restored",
        "pong",
        "pong_session",
        "session_catalog_reorder_result",
        "session_catalog_snapshot",
        "session_pinned",
        "session_ui_metadata_updated",
        "sync_messages_result",
        "yeaft_session_hydrate",
        "yeaft_session_hydrate_complete",
    )
)
"""What only the server says here, to agents or to clients, whatever the conversation: an agent that
says one of these would speak in the server's name, and is not passed on."""

OURS: Final = ("list_agents", "agents_list", "list_conversations", "conversations_list")
"""Trunkline's additions: a name may be added, none may be changed. `conversations_list` is not
sent: the answer has the name that deployed software knows, `conversation_list`."""

RELEASED: Final = frozenset((*FROM_CLIENTS, *FROM_AGENTS, *HANDSHAKE, *DEPLOYED, *OURS))

ALIASES: Final = {
    "unify_group_chat": "yeaft_session_chat",
    "yeaft_group_chat": "yeaft_session_chat",
    "unify_session_chat": "yeaft_session_chat",
    "yeaft_session_send": "yeaft_session_chat",
    "unify_session_send": "yeaft_session_chat",
    "unify_output": "yeaft_output",
    "yeaft_session_output": "yeaft_output",
    "session_output": "yeaft_output",
    "unify_settings": "yeaft_settings",
}
"""What a message may be called instead; `unify_…` is `yeaft_…` for names not listed here too."""

OUTPUT: Final = frozenset(
    (
        "claude_output",
        "yeaft_output",
        *(old for old, new in ALIASES.items() if new == "yeaft_output"),
    )
)
"""Streamed output of an agent, under every name."""


def canonical(name: str) -> str:
    """The name under which a message is handled, whatever its sender calls it."""
    known = ALIASES.get(name)
    if known is not None:
        return known
    return "yeaft_" + name[6:] if name.startswith("unify_") else name
