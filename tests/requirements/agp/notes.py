"""The field notes on AGP: what deployed apps do beyond document 003."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-4-token-alone",
        "A device's token alone is a complete handshake; the first prompt tells the device its"
        " `guid` and `user_id`.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-nobody-is-400",
        "Without a token and without `guid` and `user_id` the handshake is refused with HTTP 400.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-pings",
        "WebSocket pings and text messages with method `ping` count as activity and are answered.",
        "agp.md#ping",
    ),
    Requirement(
        "notes-4-reconnect-delays",
        "A device waits 3 s × 1.5ⁿ before it reconnects, 25 s at most.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-wrong-token-is-401",
        "A wrong token is refused in the handshake with HTTP 401, never by a WebSocket that is"
        " accepted and closed: an accepted one makes an app begin its waits anew.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-echo",
        "What a device sends echoes the `guid` and `user_id` of the prompt.",
        "agp.md#envelope",
    ),
    Requirement(
        "notes-4-two-answers-to-a-cancel",
        "Of two answers to a cancelled prompt, with two message ids, the first counts.",
        "agp.md#flow-of-a-turn",
    ),
    Requirement(
        "notes-4-answer-after-reconnect",
        "An answer may come after a reconnect, from the app's own file.",
        "agp.md#flow-of-a-turn",
    ),
    Requirement(
        "notes-4-no-reply",
        "`end_turn` with an empty `content` means that there is no reply.",
        "agp.md#sessionpromptresponse",
    ),
    Requirement(
        "notes-4-update-without-title",
        "A `tool_call_update` may lack `title` and `kind`.",
        "agp.md#toolcall",
    ),
    Requirement(
        "notes-4-one-prompt-at-a-time",
        "A session is sent one prompt at a time; the rest waits.",
        "agp.md#one-prompt-at-a-time",
    ),
)
