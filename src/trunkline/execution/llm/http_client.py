"""The HTTP client of a session's models: one for all providers, made when first needed.

Reading the machine's certificates takes tens of milliseconds, so there is one TLS context for a
process; a fork server makes it before it forks.
"""

import functools
import ssl

import httpx2

from trunkline import limits

MODEL_CONNECT_TIMEOUT_S = 10.0
MODEL_READ_S = limits.MODEL_WAIT_S_MAX  # how long a call waits is for `patience` to say

# A proxy of the environment cannot reach this machine's own model servers.
_LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")


@functools.cache
def tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class HttpClient:
    """Makes the client on first use, in the loop that uses it."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    def get(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                verify=tls(),
                transport=self._transport,
                follow_redirects=False,  # a key goes to the host it was given for
                timeout=httpx2.Timeout(MODEL_READ_S, connect=MODEL_CONNECT_TIMEOUT_S),
                mounts=dict.fromkeys(_LOOPBACK),
            )
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
