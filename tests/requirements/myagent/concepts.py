"""Document 001 §1 to §2.3: what the wire is for, its ids, its events, the form of a message."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "001-1-both-ways",
        "Client and server talk in both directions, at any time, on one WebSocket.",
        "myagent.md#connection",
    ),
    Requirement(
        "001-1-streaming",
        "An answer is streamed in pieces while it is made.",
        "myagent.md#connection",
    ),
    Requirement(
        "001-1-user-confirmation",
        "A tool can wait for a person's confirmation.",
        "myagent.md#connection",
    ),
    Requirement(
        "001-2.1-connection-id-unique",
        "Every connection has an id of its own, a UUID.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-connection-id-lives-with-the-connection",
        "A new connection of the same client has a new connection id.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-session-id-unique",
        "Every session has an id of its own, a UUID.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-session-lives-until-it-ends",
        "A session lives from its creation to its end, whatever becomes of the connection.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-many-sessions-per-connection",
        "One connection can create and use many sessions.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-step-id-unique",
        "A step id names one tool call or confirmation, and no other.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-step-id-of-a-call",
        "A tool call's step id has the form `step_{counter}_{tool_name}`.",
        "myagent.md#identifiers",
        divergence="the counter is the number of the event in the session's log, so that a"
        " step has one id on every connection",
    ),
    Requirement(
        "001-2.1-step-id-of-a-question",
        "A confirmation's step id has the form `confirm_{uuid}_{tool_name}`.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.1-step-id-spans-request-and-response",
        "A step id names one operation from its request to its response.",
        "myagent.md#identifiers",
    ),
    Requirement(
        "001-2.2-three-categories",
        "Events are of the categories `user`, `agent` and `system`.",
        "myagent.md#directions",
    ),
    Requirement(
        "001-2.2-user-events-go-up",
        "Clients send `user.*` events; others from them are refused.",
        "myagent.md#directions",
    ),
    Requirement(
        "001-2.2-agent-and-system-events-go-down",
        "The server sends `agent.*` and `system.*` events.",
        "myagent.md#directions",
    ),
    Requirement(
        "001-2.2-agent-events-have-a-session",
        "Every `agent.*` event has a `session_id`.",
        "myagent.md#directions",
    ),
    Requirement(
        "001-2.2-system-events-have-none",
        "No `system.*` event has a `session_id`.",
        "myagent.md#directions",
    ),
    Requirement(
        "001-2.3-one-json-form",
        "Every message is a JSON object of the one documented form.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-event-required",
        "`event` is required: a message without it is a protocol error.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-timestamp-iso",
        "Every message of the server has a `timestamp` in ISO form.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-session-id-required",
        "A user event about a session needs its `session_id`.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-connection-id-optional",
        "`connection_id` stands where it is of use: in `system.connected`.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-step-id-pairs",
        "`step_id` pairs a request with its response.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-content-text-or-object",
        "`content` is a text or an object.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-2.3-metadata-object",
        "`metadata` is an object.",
        "myagent.md#message-form",
    ),
)
