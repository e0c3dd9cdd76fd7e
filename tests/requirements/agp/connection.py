"""Document 003 §1 to §3: the port, the handshake, the life of a connection, the envelope."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "003-1-one-port",
        "Devices connect over WebSocket to the server's one port.",
        "agp.md#connection",
    ),
    Requirement(
        "003-1-port-8080",
        "The server listens on port 8080 unless it is told otherwise.",
        "agp.md#connection",
    ),
    Requirement(
        "003-1-text-frames",
        "Every AGP message is a WebSocket text frame that holds JSON; binary frames are not used.",
        "agp.md#connection",
    ),
    Requirement(
        "003-2-address",
        "A device connects to `/?guid=…&user_id=…&token=…`.",
        "agp.md#connection",
    ),
    Requirement(
        "003-2-guid-and-user-id-required",
        "`guid` and `user_id` are required in a device's address.",
        "agp.md#handshake",
        divergence="both, or `user_id` alone, may be left out beside a token that names the device,"
        " as deployed apps do; never in open mode",
    ),
    Requirement(
        "003-2-missing-is-no-websocket",
        "Without `guid` or `user_id` the handshake is refused and no WebSocket is made.",
        "agp.md#handshake",
    ),
    Requirement(
        "003-2-bad-url-is-refused",
        "An address that cannot be read is refused in the handshake.",
        "agp.md#handshake",
    ),
    Requirement(
        "003-2-token-is-checked",
        "The token, which the document leaves for later, is checked: it must be that device's.",
        "agp.md#handshake",
        divergence="the document does not check tokens yet; `TRUNKLINE_OPEN_AGP=1` is its"
        " behaviour",
    ),
    Requirement(
        "003-2-token-optional-where-open",
        "Where the operator opens it, a device without a token is let in by `guid` and `user_id`.",
        "agp.md#handshake",
    ),
    Requirement(
        "003-2-registered-after-handshake",
        "After the handshake the device is registered and gets what is sent to it.",
        "agp.md#handshake",
    ),
    Requirement(
        "003-2-older-connection-is-kicked",
        "An older connection of the same `guid` is closed.",
        "agp.md#handshake",
        divergence="a little later where two programs keep replacing each other",
    ),
    Requirement(
        "003-2-idle-five-minutes",
        "A connection on which nothing was sent or received for five minutes is closed.",
        "agp.md#limits",
    ),
    Requirement(
        "003-2-routes-are-cleaned-up",
        "When a device's connection ends, its registration ends too.",
        "agp.md#handshake",
    ),
    Requirement(
        "003-3-envelope-fields",
        "Every AGP message has `msg_id`, `guid`, `user_id`, `method` and `payload`.",
        "agp.md#envelope",
    ),
    Requirement(
        "003-3-msg-id-is-a-uuid",
        "`msg_id` is a UUID that no other message has.",
        "agp.md#envelope",
    ),
    Requirement(
        "003-3-msg-id-is-idempotent",
        "A message that comes again with the same `msg_id` has no second effect.",
        "agp.md#envelope",
    ),
    Requirement(
        "003-3-methods",
        "`session.prompt` and `session.cancel` go down, `session.update` and"
        " `session.promptResponse` come up.",
        "agp.md#envelope",
    ),
)
