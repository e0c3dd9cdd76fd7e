"""Document 002 §6 to §13: groups, questions, life of a conversation, the server's part."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "002-6-mentions-choose",
        "`mentions` choose which virtual persons answer.",
        "yeaft.md#group-chat",
        divergence="the persons of a group are the server's own and may live on any machine;"
        " a group that an agent runs itself is passed on to it",
    ),
    Requirement(
        "002-6-no-mention-all",
        "Without mentions everybody answers.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "002-6-parallel",
        "The persons of a group answer in parallel.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "002-6-output-by-person",
        "Each person's answer is streamed under its own id.",
        "yeaft.md#group-chat",
    ),
    Requirement(
        "002-6-attachments",
        "Attachments `{name, mime, base64}` travel with a message.",
        "yeaft.md#attachments",
    ),
    Requirement(
        "002-6-old-name",
        "`unify_group_chat` is the same as `yeaft_session_chat`.",
        "yeaft.md#names",
    ),
    Requirement(
        "002-6-old-names-are-not-sent",
        "The old names are taken and not sent: no message of the server's own is called `unify_*`.",
        "yeaft.md#names",
    ),
    Requirement(
        "002-7-question",
        "A question has `requestId`, `prompt`, perhaps `choices`, and `multiSelect`.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-7-answer",
        "The answer names the `requestId` and reaches the tool that asked.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-7-turn-goes-on",
        "After the answer the turn goes on.",
        "yeaft.md#questions",
    ),
    Requirement(
        "002-8-lifecycle",
        "A conversation goes from `create_conversation` over `session_ready` and `send_message` to"
        " `claude_output`.",
        "yeaft.md#life-of-a-conversation",
    ),
    Requirement(
        "002-8-session-ready-fields",
        "`session_ready` holds `conversationId`, `sessionId`, `capabilities` and `modelInfo`.",
        "yeaft.md#life-of-a-conversation",
    ),
    Requirement(
        "002-8-next-turn",
        "After a turn the next message can be sent.",
        "yeaft.md#life-of-a-conversation",
    ),
    Requirement(
        "002-9-data-is-not-parsed",
        "The `data` of an agent's output arrives as it was sent, byte for byte.",
        "yeaft.md#relay",
        divergence="a line break between two tokens becomes a space, because an event of the"
        " log is one line",
    ),
    Requirement(
        "002-9-output-by-conversation",
        "Output goes to the clients of its conversation.",
        "yeaft.md#relay",
    ),
    Requirement(
        "002-9-routed-by-pin",
        "A client's message goes to the agent of its conversation's pin, and nowhere else.",
        "yeaft.md#relay",
    ),
    Requirement(
        "002-9-authentication",
        "The server lets nobody in without a token that it knows.",
        "yeaft.md#web-handshake",
        divergence="web clients show a bearer token and agents a secret of their own, instead"
        " of one JWT",
    ),
    Requirement(
        "002-9-agents-prove-their-secret",
        "An agent proves its secret before anything else.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "002-9-owner-only",
        "A conversation is served to those who may see it, and to nobody else.",
        "yeaft.md#messages-from-web-clients",
    ),
    Requirement(
        "002-10-pinned-to-its-agent",
        "A conversation stays with the agent on which it was created.",
        "yeaft.md#session-pin",
    ),
    Requirement(
        "002-10-server-chooses",
        "Without an agent in `create_conversation` the server chooses one.",
        "yeaft.md#session-pin",
    ),
    Requirement(
        "002-10-offline-history-readable",
        "While its agent is offline, a conversation's history can be read.",
        "yeaft.md#session-pin",
    ),
    Requirement(
        "002-10-offline-cannot-send",
        "While its agent is offline, sending is an error that says so.",
        "yeaft.md#session-pin",
        divergence="for the first 5 minutes a message waits instead, as the document's own"
        " buffer has it",
    ),
    Requirement(
        "002-11-heartbeat",
        "An agent's `agent_status` of `idle` or `busy` tells that it lives, and how.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "002-11-silence-is-death",
        "An agent that falls silent is taken for gone.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "002-11-buffered-while-away",
        "Messages for an agent that is briefly away are kept and flushed in order.",
        "yeaft.md#heartbeats-and-buffers",
    ),
    Requirement(
        "002-11-client-may-send-again",
        "A client that sends its buffer again after a reconnect repeats nothing.",
        "yeaft.md#returning-clients",
    ),
    Requirement(
        "002-12-readable-on-the-wire",
        "Every envelope can be read on the wire as JSON text.",
        "yeaft.md#debugging",
    ),
    Requirement(
        "002-12-envelope-and-what-it-became",
        "Of an agent's output both the envelope as it came and what was made of it can be looked"
        " at.",
        "yeaft.md#debugging",
    ),
    Requirement(
        "002-12-agents-debug-setting",
        'An agent logs its engine\'s events with `"debug": true` in its own settings.',
        "yeaft.md#debugging",
        reason="a setting of the Yeaft agent's own program, which is not part of this project",
    ),
    Requirement(
        "002-13-names-never-change",
        "A name that was released is never changed or taken away.",
        "yeaft.md#names",
    ),
)
