"""The field notes' second round on AGP: what public apps do, seen by running them."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-4-object-text",
        "Where `text` of a content block is no text, the texts inside it are joined; what has none"
        " is shown as JSON.",
        "agp.md#contentblock",
    ),
    Requirement(
        "notes-4-empty-ids",
        "An empty `guid` or `user_id` in a message means those of the connection.",
        "agp.md#envelope",
    ),
    Requirement(
        "notes-4-token-and-guid",
        "A registered device's token with its `guid` and no `user_id` is a complete handshake,"
        " except in open mode, where both are needed.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-refusals-are-logged",
        "A refused handshake is logged with its reason, and without its token.",
        "agp.md#handshake",
    ),
    Requirement(
        "notes-4-lost-answer",
        "A turn that a device had before its line came back, and of which it says nothing for a"
        " minute and a half, ends with an error, and the device gets `session.cancel`.",
        "agp.md#one-prompt-at-a-time",
    ),
    Requirement(
        "notes-4-two-programs",
        "Of two programs with one `guid` the newest always wins; the hand-over of a pair that goes"
        " on replacing each other is delayed, longer each time and within a bound.",
        "agp.md#two-programs-with-one-guid",
    ),
    Requirement(
        "notes-4-owner-is-told",
        "The owner of a device that two programs connect as is told: in the machine's `detail`, in"
        " the log, and by an event to whoever reads one of its sessions.",
        "agp.md#two-programs-with-one-guid",
    ),
    Requirement(
        "notes-4-any-token-where-open",
        "With the open setting a device is let in by `guid` and `user_id`, whatever its token.",
        "agp.md#handshake",
    ),
)
