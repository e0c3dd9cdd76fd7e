"""Notes: facts in a session's log that readers are not shown (docs/concepts/core.md).

Each is committed together with the events around it. What must survive a crash and is not an event
is one of these; nothing else is.
"""

from typing import Any

import msgspec


class Said(msgspec.Struct, frozen=True, tag="said"):
    """What a message has besides its text, which `user_message` shows."""

    turn_id: str
    metadata: dict[str, Any]


class Copied(msgspec.Struct, frozen=True, tag="copied"):
    """The turns above are those of another session: under its names for them, ours."""

    turns: dict[str, str]


class Told(msgspec.Struct, frozen=True, tag="told"):
    """The machine is about to be told of a turn. Written before it is sent."""

    turn_id: str
    settles: bool = True
    """From now on an unnamed terminal event is this turn's: no earlier one is expected."""


class Heard(msgspec.Struct, frozen=True, tag="heard"):
    """The machine has said something since it was told to start the session, or of a turn: it runs
    it, and has every turn that it was told of."""


class Untold(msgspec.Struct, frozen=True, tag="untold"):
    """The machine does not have the turn: it may be told again."""

    turn_id: str


class Unsteered(msgspec.Struct, frozen=True, tag="unsteered"):
    """What was said to running turns, and not taken, goes with them: a person has stopped them, or
    nothing of the session runs any more."""


class Cancelling(msgspec.Struct, frozen=True, tag="cancelling"):
    """A person has stopped the turns that the machine has."""

    reason: str


class Late(msgspec.Struct, frozen=True, tag="late"):
    """The turn was ended here, and its machine may yet send a terminal event for it."""

    turn_id: str


class Settled(msgspec.Struct, frozen=True, tag="settled"):
    """No late terminal event is expected of this turn any more."""

    turn_id: str


class Answered(msgspec.Struct, frozen=True, tag="answered", omit_defaults=True):
    """The answer of the `approval_resolved` just before was given here, and goes to the machine."""

    request_id: str
    answer: Any = None
    by: str | None = None
    scope: str = "once"
    reason: str = ""


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The machine is about to be told to start the session."""


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """The machine does not run the session."""


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """The session is another machine's from here on."""

    machine_id: str


class Stopped(msgspec.Struct, frozen=True, tag="stopped"):
    """The machine of a closed session is about to be told so, or need not be."""


Note = (
    Said
    | Copied
    | Told
    | Heard
    | Untold
    | Unsteered
    | Cancelling
    | Late
    | Settled
    | Answered
    | Started
    | Absent
    | Moved
    | Stopped
)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Note)


def encode(note: Note) -> str:
    return _encoder.encode(note).decode()


def decode(text: str) -> Note:
    note: Note = _decoder.decode(text)
    return note
