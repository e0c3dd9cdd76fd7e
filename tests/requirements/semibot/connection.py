"""Document 000 §1 to §3: the line, its address, its life, the form of its messages."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "000-1-one-line-per-vm",
        "One WebSocket of a VM carries all sessions of its user, told apart by `session_id`.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-json-text-frames",
        "Every message is one JSON object in a text frame.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-no-binary-frames",
        "Binary frames are not used; one ends the line.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-first-connection-address",
        "A first connection goes to `/ws/vm?user_id=…&ticket=…`.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-reconnection-address",
        "A reconnection goes to `/ws/vm?user_id=…`, without a ticket.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-user-id-required",
        "A connection without `user_id` in its address is refused.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-no-token-in-address",
        "The address never carries the token: one that is there lets nobody in.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-ticket-authenticates-nobody",
        "A ticket alone is no authentication: without a valid token the line ends with 4001.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-1-token-must-be-the-users",
        "The token's user must be the `user_id` of the address.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-1-active-vm-required",
        "A valid token needs an active VM of that user behind it.",
        "semibot.md#auth",
    ),
    Requirement(
        "000-1-token-alone-suffices",
        "A connection without a ticket is lawful as soon as its token is valid.",
        "semibot.md#connection",
    ),
    Requirement(
        "000-2-auth-then-init",
        "The VM speaks first (`auth`), then the control plane (`init`), then both.",
        "semibot.md#life-of-a-line",
    ),
    Requirement(
        "000-2-life-of-a-line",
        "One line serves auth, init, heartbeat, start_session, user_message, sse_event, request,"
        " response, fire_and_forget, cancel and stop_session, in the order of the document.",
        "semibot.md#life-of-a-line",
    ),
    Requirement(
        "000-2-vm-closes-the-line",
        "A VM that shuts down closes the line itself, which is answered and no error.",
        "semibot.md#life-of-a-line",
    ),
    Requirement(
        "000-3-type-field",
        "Every message has a `type`.",
        "semibot.md#message-form",
    ),
    Requirement(
        "000-3-session-id-required",
        "A message about a session has a `session_id`; without one that exists it is not served.",
        "semibot.md#message-form",
    ),
    Requirement(
        "000-3-vm-messages-without-session",
        "`auth`, `heartbeat`, `init`, `resume`, `response` and `resume_response` need none.",
        "semibot.md#message-form",
    ),
    Requirement(
        "000-3-timestamp-allowed",
        "A message may carry a `timestamp`.",
        "semibot.md#message-form",
    ),
)
