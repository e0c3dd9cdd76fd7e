"""What the daemon and its fork server say to each other: JSON lines over a socketpair."""

import msgspec


class _Message(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    pass


# --- Daemon → fork server ---------------------------------------------------------------------


class Spawn(_Message, tag="spawn"):
    """A new process for a session, which connects to `socket_path`."""

    id: int
    socket_path: str


class Kill(_Message, tag="kill"):
    """SIGKILL, by the only one who knows that this number is still that process."""

    pid: int


# --- Fork server → daemon ---------------------------------------------------------------------


class Ready(_Message, tag="ready"):
    """Everything is imported. `threads` should be 1: a fork copies no other."""

    threads: int


class Failed(_Message, tag="failed"):
    """The target cannot be imported; the server ends."""

    message: str


class Spawned(_Message, tag="spawned"):
    id: int
    pid: int


class Refused(_Message, tag="refused"):
    """The machine has no room for another process."""

    id: int
    message: str


class Exited(_Message, tag="exited"):
    """A session's process has ended: one of the two says how."""

    pid: int
    exit_code: int | None = None
    signal: int | None = None


Down = Spawn | Kill
Up = Ready | Failed | Spawned | Refused | Exited

_encoder = msgspec.json.Encoder()
_down: msgspec.json.Decoder[Down] = msgspec.json.Decoder(Down)
_up: msgspec.json.Decoder[Up] = msgspec.json.Decoder(Up)


def line(message: Down | Up) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_down(text: bytes) -> Down:
    return _down.decode(text)


def decode_up(text: bytes) -> Up:
    return _up.decode(text)
