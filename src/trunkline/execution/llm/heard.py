"""How a response begins, for people who have to find out why it is no answer."""

from collections.abc import AsyncIterator

import httpx2

OPENING_BYTES = 400


class Heard(httpx2.AsyncByteStream):
    """Passes a response's bytes on, and keeps the first of them."""

    def __init__(self, stream: httpx2.AsyncByteStream, media_type: str, is_plain: bool) -> None:
        self._stream = stream
        self._is_plain = is_plain
        self._kept = b""
        self.media_type = media_type

    @classmethod
    def of(cls, response: httpx2.Response) -> "Heard":
        """Listens in from now on: before anything of the body is read."""
        headers, stream = response.headers, response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        is_plain = headers.get("content-encoding", "identity") == "identity"
        heard = cls(stream, headers.get("content-type", ""), is_plain)
        response.stream = heard
        return heard

    @property
    def opening(self) -> str:
        return self._kept.decode(errors="replace").strip()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if self._is_plain and len(self._kept) < OPENING_BYTES:
                self._kept += chunk[: OPENING_BYTES - len(self._kept)]
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
