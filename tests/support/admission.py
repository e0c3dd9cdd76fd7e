"""How a VM knocks: its addresses, its token, and what the control plane says to it."""

from typing import Any

import jwt

from tests.support.control import TestUser
from tests.support.raw_ws import RawWs

Json = dict[str, Any]


def claims_of(token: str) -> Json:
    claims: Json = jwt.decode(token, options={"verify_signature": False})
    return claims


def first_url(user: TestUser, ticket: str) -> str:
    return f"{user.ws_url}?user_id={user.id}&ticket={ticket}"


def again_url(user: TestUser) -> str:
    return f"{user.ws_url}?user_id={user.id}"


async def verdict(url: str, token: str) -> int:
    """The close code for that token at that URL; 0 when it is let in."""
    async with await RawWs(url).connect() as line:
        await line.send({"type": "auth", "token": token})
        await line.until(lambda: bool(line.messages) or line.ended, "verdict")
        return await line.closed() if line.ended else 0
