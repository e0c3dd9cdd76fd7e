"""How an agent introduces itself to a Yeaft server (docs/protocols/yeaft.md)."""

import sys
from collections.abc import Collection
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import structlog
from yarl import URL

from trunkline import __version__
from trunkline.execution.errors import NoLine, ServerRefused
from trunkline.execution.ws.connection import Socket
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.messages import Auth, AuthRequired

_log = structlog.get_logger(__name__)

CAPABILITIES = ["chat", "ask_user", "cancel", "resume", "attachments"]
_SPOKEN = [*CAPABILITIES, "ping_session", "plaintext-ok"]
"""With what a deployed server must know: without the last one it encrypts what it sends."""


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """Who this machine says it is. The secret is shown to the server, and nowhere else."""

    id: str
    name: str
    secret: str
    work_dir: str

    def __repr__(self) -> str:
        return f"Introduction(id={self.id!r}, name={self.name!r})"

    def url(self, server: str) -> URL:
        return URL(server).update_query(
            type="agent",
            id=self.id,
            name=self.name,
            # The same after a restart: the server knows a newer connection by it.
            instanceId=str(uuid5(NAMESPACE_URL, f"{self.id}/{self.work_dir}")),
            workDir=self.work_dir,
            platform=sys.platform,
            capabilities=",".join(_SPOKEN),
        )

    async def greet(self, socket: Socket, providers: Collection[str] = ()) -> None:
        """Until the server has registered us. Raises NoLine, ServerRefused."""
        async for text in socket.texts():
            try:
                kind = codec.decode(text).type
                if kind == "auth_required":
                    await socket.send(self._auth(codec.read(text, AuthRequired), providers))
                elif kind == "registered":
                    _check(codec.fields(text))
                    return
                else:
                    _log.info("a message before the handshake is over; ignored", type=kind[:100])
            except Malformed as error:
                _log.warning("malformed message in the handshake", problem=str(error))
        raise NoLine(socket.end)

    def _auth(self, asked: AuthRequired, providers: Collection[str]) -> bytes:
        auth = Auth(
            temp_id=asked.temp_id,
            secret=self.secret,
            capabilities=[*_SPOKEN, *(f"provider:{name}" for name in providers)],
            version=__version__,
            platform=sys.platform,
        )
        return codec.encode(auth)


def _check(registered: dict[str, Any]) -> None:
    """A server with a key that does not say that plain text will do, encrypts."""
    if registered.get("sessionKey") and registered.get("acceptPlaintext") is not True:
        raise ServerRefused(
            "the server wants encrypted messages inside of TLS, which is not spoken here"
        )
