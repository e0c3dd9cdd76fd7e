"""The names at the top of Yeaft messages that mean something on this wire, by who says them.

Messages with other fields travel on as they are; the edges count those names, so that it is seen
when programs of other makers begin to say more (docs/protocols/yeaft.md). Pure.
"""

from typing import Final

from trunkline.wire.yeaft import messages

CORRELATION: Final = ("requestId", "clientMessageId")
"""What a client may give a message to know the answer by."""

OF_CLIENTS: Final = frozenset(
    (
        *("type", "agentId", "conversationId", *CORRELATION, "groupId", "sessionId", "id"),
        *("text", "prompt", "attachments", "fileIds", "mentions", "answer", "answers", "confirmed"),
        *("provider", "workDir", "options", "providerOptions", "disallowedTools", "title"),
        *("claudeSessionId", "limit", "turns", "beforeId", "afterMessageId", "lastEventId"),
        *("plaintextOk", "positions", "silent", "catalogKey", "routeRef", "pinned", "hidden"),
        *("sortRank", "sessions", "openFiles", "activeIndex", "workbenchRoute"),
        *("restoreRequestId", "events", "conversationIds", "workbenchRouteKey"),
        *("workbenchRouteProtocol", "terminalId", "filePath", "dirPath", "content"),
    )
)

_READ_OF_AGENTS = (
    *(messages.Envelope, messages.Auth, messages.Ready, messages.Question, messages.Ended),
    *(messages.Speaker, messages.AgentStatus, messages.SlashCommandsUpdate),
    messages.ConversationList,
)

OF_AGENTS: Final = frozenset(
    (
        *(name for kind in _READ_OF_AGENTS for name in kind.__struct_encode_fields__),
        *("agentId", *CORRELATION, "_requestClientId", "userId", "username", "groupId", "turnId"),
        *("event", "sessions", "folders", "projectsAuthoritative", "historyMessages", "options"),
        *("providerOptions", "disallowedTools", "hasQueuedFollowUp", "commandSet"),
        *("inputTokens", "maxTokens", "percentage"),
    )
)
"""What is read here, and what agents are known to say for their clients alone."""
