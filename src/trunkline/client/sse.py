"""Server-sent events as they arrive: bytes in, whole frames out. No I/O.

Follows the WHATWG definition: any of the three line ends, comments, fields without a value.
"""

import msgspec

from trunkline.client.errors import StreamBroken


class Frame(msgspec.Struct, frozen=True):
    """One dispatched event."""

    id: str | None
    event: str
    data: str


class SseParser:
    """Feed it what arrives; it gives frames as they become complete."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._rest = b""
        self._held = 0
        self._id: str | None = None
        self._event = ""
        self._data: list[str] = []
        self.retry_ms: int | None = None
        """How long the server asks its readers to wait before they come back."""

    def feed(self, piece: bytes) -> list[Frame]:
        """StreamBroken when one event is larger than is allowed."""
        text = self._rest + piece
        # A CR at the end may be half of a CRLF: it waits for the next piece.
        cut = len(text) - 1 if text.endswith(b"\r") else len(text)
        lines = text[:cut].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + text[cut:]
        frames = [frame for line in lines if (frame := self._take(line)) is not None]
        if self._held + len(self._rest) > self._bytes_max:
            raise StreamBroken(f"an event of the stream has more than {self._bytes_max} bytes")
        return frames

    def _take(self, line: bytes) -> Frame | None:
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        self._held += len(line)
        name, _, value = line.decode("utf-8", "replace").lstrip("\ufeff").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit() and len(value) < 10:
                self.retry_ms = int(value)
            case _:
                pass
        return None

    def _dispatch(self) -> Frame | None:
        data, event, number = self._data, self._event, self._id
        self._data, self._event, self._id, self._held = [], "", None, 0
        if not data:
            return None
        return Frame(number, event or "message", "\n".join(data))
