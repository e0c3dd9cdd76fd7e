"""Document 003 §1 to §3: the port, the handshake, the life of a connection, the envelope."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "003-1-one-port",
        "Devices connect over WebSocket to the server's one port.",
    ),
    Requirement(
        "003-1-port-8080",
        "The server listens on port 8080 unless it is told otherwise.",
    ),
    Requirement(
        "003-1-text-frames",
        "Every AGP message is a WebSocket text frame that holds JSON; binary frames are not used.",
    ),
    Requirement(
        "003-2-address",
        "A device connects to `/?guid=…&user_id=…&token=…`.",
    ),
    Requirement(
        "003-2-guid-and-user-id-required",
        "`guid` and `user_id` are required in a device's address.",
    ),
    Requirement(
        "003-2-missing-is-no-websocket",
        "Without `guid` or `user_id` the handshake is refused and no WebSocket is made.",
    ),
    Requirement(
        "003-2-bad-url-is-refused",
        "An address that cannot be read is refused in the handshake.",
    ),
    Requirement(
        "003-2-token-is-checked",
        "The token, which the document leaves for later, is checked: it must be that device's.",
    ),
    Requirement(
        "003-2-token-optional-where-open",
        "Where the operator opens it, a device without a token is let in by `guid` and `user_id`.",
    ),
    Requirement(
        "003-2-registered-after-handshake",
        "After the handshake the device is registered and gets what is sent to it.",
    ),
    Requirement(
        "003-2-older-connection-is-kicked",
        "An older connection of the same `guid` is closed.",
    ),
    Requirement(
        "003-2-idle-five-minutes",
        "A connection on which nothing was sent or received for five minutes is closed.",
    ),
    Requirement(
        "003-2-routes-are-cleaned-up",
        "When a device's connection ends, its registration ends too.",
    ),
    Requirement(
        "003-3-envelope-fields",
        "Every AGP message has `msg_id`, `guid`, `user_id`, `method` and `payload`.",
    ),
    Requirement(
        "003-3-msg-id-is-a-uuid",
        "`msg_id` is a UUID that no other message has.",
    ),
    Requirement(
        "003-3-msg-id-is-idempotent",
        "A message that comes again with the same `msg_id` has no second effect.",
    ),
    Requirement(
        "003-3-methods",
        "`session.prompt` and `session.cancel` go down, `session.update` and"
        " `session.promptResponse` come up.",
    ),
)
