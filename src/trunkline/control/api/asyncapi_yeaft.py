"""What passes on the Yeaft wire, by who says it to whom, for the AsyncAPI document.

A message that has a struct is described by it. Those that the edges read and write field by field
stand in a table, in the notation of docs/protocols/yeaft.md: `name?` may be left out. More fields
than those may come with any message.
"""

from typing import Any, Final

import msgspec

from trunkline.wire.yeaft import messages, names

Json = dict[str, Any]
Shape = type[msgspec.Struct] | Json
"""A struct, or a JSON schema that says in `description` what the message is."""

_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "string": (
        *("agentName", "answeredBy", "code", "conversationId", "error", "groupId", "message"),
        *("mode", "prompt", "reason", "request", "role", "state", "status", "text", "title"),
        *("userId", "vpId", "vpName", "catalogKey"),
    ),
    "boolean": (
        *("acceptPlaintext", "confirmed", "hasMore", "hasMoreMessages", "isProcessing"),
        *("multiSelect", "plaintextOk", "positions", "silent", "success"),
        *("fromDb", "hidden", "ok", "pinned", "projectsAuthoritative"),
        "yeaftSessionInventoryComplete",
    ),
    "array": (
        *("agents", "attachments", "choices", "conversations", "dbMessages", "disallowedTools"),
        *("folders", "history", "mentions", "messages", "questions", "sessions", "slashCommands"),
        *("catalog", "hiddenCatalog", "openFiles", "projects"),
    ),
    "object": ("answers", "options", "providerOptions"),
    "integer": ("activeIndex", "eventId", "limit", "total", "turns", "workbenchRouteProtocol"),
    "null": ("sessionKey",),
}
_EVENT_IDS: Final = ("afterMessageId", "beforeId", "lastEventId")
_FIELDS: Final[dict[str, Json]] = {
    **{name: {"type": kind} for kind, fields in _TYPES.items() for name in fields},
    **{name: {"type": ["string", "null"]} for name in ("agentId", "provider", "workDir")},
    **{name: {"type": ["number", "string"]} for name in _EVENT_IDS},
    "data": {"description": "Claude's stream-json: `assistant`, `user`, `system` or `result`."},
}
"""Fields that are not here may have any value: agents or clients fill them."""

_ECHOED = "requestId?, clientMessageId?"
_SAID = "conversationId?, text?, prompt?, attachments?, clientMessageId?, requestId?, workDir?"
_OPENING = "agentId?, provider?, workDir?, options?, providerOptions?, disallowedTools?, title?"
_READY = (
    "conversationId, agentId?, provider?, workDir?, capabilities?, history?, hasMore?, "
    "lastEventId?, isProcessing?, " + _ECHOED
)
_GROUP_CHAT = "groupId?, sessionId?, conversationId?, text?, mentions?, attachments?"
_AGENTS_OWN = ("An agent's own: its fields are between it and its clients.", "conversationId?")
_CLIENTS_WORDS = "`send_message`, as deployed software calls it."
_WHOSE = "conversationId"

_OF_WEB: Final[dict[str, tuple[str, str]]] = {
    "client_hello": ("What the client can do.", "plaintextOk?, positions?, " + _ECHOED),
    "ping": ("Asks for `pong`.", _ECHOED),
    "list_agents": ("Asks for the machines of this person.", _ECHOED),
    "get_agents": ("`list_agents`, as deployed clients call it.", _ECHOED),
    "select_agent": ("Later messages without `agentId` mean it.", "agentId, silent?, " + _ECHOED),
    "create_conversation": ("Opens a conversation.", _OPENING + ", conversationId?, " + _ECHOED),
    "resume_conversation": (
        "Takes a conversation up again: its history, or what came after `lastEventId`.",
        "conversationId?, sessionId?, agentId?, lastEventId?, " + _ECHOED,
    ),
    "delete_conversation": ("Ends a conversation.", "conversationId?, " + _ECHOED),
    "send_message": ("A person's message; opens a turn.", _SAID),
    "chat": (_CLIENTS_WORDS, _SAID),
    "execute": (_CLIENTS_WORDS, _SAID),
    "yeaft_session_chat": ("A message to a group.", _GROUP_CHAT),
    "cancel_execution": ("Stops the turn.", "conversationId?, " + _ECHOED),
    "ask_user_answer": ("Answers a question.", "requestId, conversationId?, answer?, answers?"),
    "yeaft_ask_user_answer": (
        "`ask_user_answer`, under another name.",
        "requestId, conversationId?, answer?, answers?",
    ),
    "list_conversations": ("Asks for conversations.", "agentId?, " + _ECHOED),
    "get_conversations": ("`list_conversations`, as deployed clients call it.", "agentId?"),
    "list_history_sessions": ("Asks for sessions of the past.", "agentId?, provider?, workDir?"),
    "list_folders": ("Asks for the folders of sessions.", "agentId?, provider?, workDir?"),
    "select_conversation": ("Follows a conversation.", "conversationId?, " + _ECHOED),
    "sync_messages": (
        "Asks for a page of history.",
        "conversationId?, limit?, turns?, beforeId?, afterMessageId?, " + _ECHOED,
    ),
    "refresh_conversation": ("Asks whether a turn runs.", "conversationId?, " + _ECHOED),
    "ping_session": ("Asks whether a session lives.", "conversationId?, " + _ECHOED),
    "update_conversation_settings": ("Changes settings.", "conversationId?, title?, " + _ECHOED),
    "pin_session": ("Lists a conversation first.", "conversationId?, " + _ECHOED),
    "unpin_session": ("The opposite.", "conversationId?, " + _ECHOED),
    "set_session_ui_metadata": (
        "How a conversation is listed.",
        "catalogKey, routeRef?, pinned?, hidden?, sortRank?, " + _ECHOED,
    ),
    "reorder_session_catalog": ("All rows, in their new order.", "sessions, " + _ECHOED),
    "update_file_tabs": (
        "Which files are open beside a conversation.",
        "openFiles, activeIndex?, workbenchRoute?, conversationId?",
    ),
    "restore_file_tabs": (
        "Asks for them.",
        "agentId?, conversationId?, workbenchRoute?, restoreRequestId?, " + _ECHOED,
    ),
    "perf_trace_events": ("What a page measures of itself; left alone.", "events?"),
}
_TO_WEB: Final[dict[str, tuple[str, str]]] = {
    "auth_result": (
        "Whether the client is let in.",
        "success, error?, sessionKey?, acceptPlaintext?, role?, userId?, "
        "yeaftSessionInventoryComplete?, workbenchRouteProtocol?",
    ),
    "client_hello_ack": (
        "Answers `client_hello`.",
        "plaintextOk, workbenchRouteProtocol, " + _ECHOED,
    ),
    "pong": ("Answers `ping`.", _ECHOED),
    "agents_list": ("The machines of this person.", "agents, " + _ECHOED),
    "agent_list": ("`agents_list`, as deployed clients know it.", "agents, " + _ECHOED),
    "agent_selected": (
        "Answers `select_agent`.",
        "agentId, agentName, workDir?, capabilities?, conversations?, slashCommands?, " + _ECHOED,
    ),
    "agent_status": ("A machine is in another state.", "agentId?, conversationId?, state?"),
    "conversation_pinned": (
        "A new conversation, and the machine that it is on.",
        "conversationId, agentId?, clientConversationId?, " + _ECHOED,
    ),
    "session_ready": ("A conversation can be talked to.", _READY + ", sessionId?, modelInfo?"),
    "conversation_created": ("`session_ready` of a new one, to deployed clients.", _READY),
    "conversation_resumed": (
        "`session_ready` of one that was there, to deployed clients.",
        _READY + ", dbMessages?, hasMoreMessages?",
    ),
    "conversation_list": ("Conversations.", "conversations, agentId?, " + _ECHOED),
    "conversation_selected": ("Answers `select_conversation`.", "conversationId, " + _ECHOED),
    "conversation_refresh": (
        "Answers `refresh_conversation`.",
        "conversationId, isProcessing, " + _ECHOED,
    ),
    "pong_session": ("Whether a session lives.", "conversationId, status, isProcessing"),
    "sync_messages_result": (
        "A page of history.",
        "conversationId, catalogKey, messages, hasMore, total, lastEventId, mode, "
        "afterMessageId?, " + _ECHOED,
    ),
    "history_sessions_list": ("Sessions of the past.", "sessions?, provider?, workDir?"),
    "folders_list": ("Folders of sessions.", "folders?, provider?, workDir?"),
    "session_catalog_snapshot": (
        "The conversations as deployed pages list them; follows each `agent_list`.",
        "catalog, hiddenCatalog, projects, projectsAuthoritative",
    ),
    "yeaft_session_hydrate": (
        "The group chats that one agent runs itself.",
        "agentId, sessions, fromDb, " + _ECHOED,
    ),
    "yeaft_session_hydrate_complete": ("All agents' were told.", "ok, " + _ECHOED),
    "session_pinned": ("Answers `pin_session`.", "conversationId, pinned, " + _ECHOED),
    "session_ui_metadata_updated": (
        "Answers `set_session_ui_metadata`.",
        "ok, catalogKey?, routeRef?, pinned?, hidden?, sortRank?, error?, " + _ECHOED,
    ),
    "session_catalog_reorder_result": (
        "Answers `reorder_session_catalog`.",
        "ok, error?, " + _ECHOED,
    ),
    "file_tabs_restored": (
        "Answers `restore_file_tabs`.",
        "openFiles, activeIndex, agentId?, conversationId?, workbenchRouteKey?, "
        "workbenchWorkspaceGeneration?, restoreRequestId?, " + _ECHOED,
    ),
    "conversation_delete_result": (
        "Answers `delete_conversation` of a deployed page.",
        "conversationId, agentId?, ok, " + _ECHOED,
    ),
    "event_position": ("How far a conversation has come.", "conversationId, eventId"),
    "claude_output": (
        "Output of an agent, or of another machine in its form.",
        "conversationId, data",
    ),
    "yeaft_output": (
        "Output of one person of a group.",
        "conversationId?, groupId?, vpId?, vpName?, data",
    ),
    "ask_user_question": (
        "Asks a person.",
        "conversationId, requestId, prompt?, choices?, multiSelect?, questions?, kind?, toolName?, "
        "toolInput?, timeoutSeconds?",
    ),
    "ask_user_answered": (
        "A question is settled: dialogs close.",
        "conversationId, requestId, confirmed, answer?, answeredBy?, reason?",
    ),
    "slash_commands_update": (
        "What can be said in a conversation behind a slash.",
        "conversationId, slashCommands, slashCommandDescriptions",
    ),
    "turn_completed": ("A turn has ended; to deployed clients.", _WHOSE),
    "execution_cancelled": ("A turn was cancelled; to deployed clients.", _WHOSE),
    "conversation_closed": ("A conversation has ended.", "conversationId, reason?, " + _ECHOED),
    "conversation_deleted": ("The same, to deployed clients.", _WHOSE),
    "session_id_update": ("What an agent calls a conversation's session.", _WHOSE),
    "error": (
        "A message could not be served.",
        "message, code?, conversationId?, request?, " + _ECHOED,
    ),
    **dict.fromkeys(("crew_output", "llm_config", "mcp_servers_list"), _AGENTS_OWN),
    "yeaft_settings": _AGENTS_OWN,
}


def _shape(name: str, description: str, fields: str) -> Json:
    listed = fields.split(", ") if fields else []
    return {
        "type": "object",
        "description": description,
        "required": ["type", *(one for one in listed if not one.endswith("?"))],
        "properties": {
            "type": {"const": name},
            **{one: _FIELDS.get(one, {}) for one in (one.removesuffix("?") for one in listed)},
        },
    }


def _shapes(table: dict[str, tuple[str, str]]) -> dict[str, Shape]:
    """Every message of a table, under its old names too."""
    old = {name: table[new] for name, new in names.ALIASES.items() if new in table}
    return {name: _shape(name, *said) for name, said in {**table, **old}.items()}


def _of(*kinds: type[messages.Message]) -> dict[str, Shape]:
    """Structs by the name that they have by default."""
    found: dict[str, Shape] = {}
    for kind in kinds:
        (name,) = (one.default for one in msgspec.structs.fields(kind) if one.name == "type")
        found[str(name)] = kind
    return found


FROM_WEB: Final = _shapes(_OF_WEB)
TO_WEB: Final = _shapes(_TO_WEB)
FROM_AGENTS: Final[dict[str, Shape]] = {
    **{name: TO_WEB[name] for name in sorted({*names.OUTPUT, *names.FROM_AGENTS} & {*TO_WEB})},
    **{name: TO_WEB[name] for name in ("history_sessions_list", "folders_list")},
    **_of(messages.Auth, messages.Question, messages.AgentStatus, messages.ConversationList),
    **_shapes({"agent_sync_complete": ("The agent has said all that it had kept.", "")}),
    **dict.fromkeys(
        ("session_ready", "conversation_created", "conversation_resumed"), messages.Ready
    ),
    **dict.fromkeys(
        (
            *("turn_completed", "execution_cancelled", "session_id_update"),
            *("conversation_closed", "conversation_deleted"),
        ),
        messages.Ended,
    ),
    **_shapes({"error": ("Something did not work.", "conversationId?, message?, error?")}),
    **_of(messages.SlashCommandsUpdate),
    **_shapes({"context_usage": ("The agent's program is done with a turn.", "conversationId")}),
}
TO_AGENTS: Final[dict[str, Shape]] = {
    **_of(messages.AuthRequired, messages.Registered, messages.ErrorMessage),
    **_of(messages.CreateConversation, messages.ResumeConversation, messages.DeleteConversation),
    **_of(messages.SendMessage, messages.Execute, messages.TransferFiles),
    **_of(messages.CancelExecution, messages.AskUserAnswer),
    **{
        name: FROM_WEB[name]
        for name in (
            *("yeaft_session_chat", "list_history_sessions", "list_folders"),
            "update_conversation_settings",
        )
    },
}
"""Besides these, what clients say that the control plane does not know passes to agents unread."""
