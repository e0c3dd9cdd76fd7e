"""Sums of what was used go by the names that people know."""

import asyncio
from typing import Any, cast

from trunkline.cli.audit import usage
from trunkline.client import ApiError, Client

ITEM = {"calls": 2, "tokens_in": 1, "tokens_out": 1, "cost": None, "unpriced_calls": 0}


class Server:
    """Knows one session; another one is gone."""

    async def get(self, *path: str, **query: Any) -> Any:
        if path == ("usage",):
            assert query["since"] == 1_795_012_011_067
            return {"items": [{"key": one, **ITEM} for one in ("s1", "s2", None)]}
        if path == ("sessions", "s1"):
            return {"title": "Fix the build"}
        raise ApiError(404, "SESSION_NOT_FOUND", "gone")


def test_a_sum_is_called_as_people_call_it() -> None:
    found = asyncio.run(usage(cast(Client, Server()), by="session", since="1795012011067"))
    assert [one["session"] for one in found.view or ()] == ["Fix the build", "s2", None, "total"]
    assert [one["session"] for one in found.items] == ["s1", "s2", None, "total"]
