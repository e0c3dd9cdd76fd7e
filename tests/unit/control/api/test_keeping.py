"""Who may say what is kept, how much there may be, and take a session out: by role."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.unit.control.api.conftest import Api
from tests.unit.control.api.test_sessions import new_session
from trunkline.control.access.auth import Principal
from trunkline.control.errors import InvalidRequest, LimitReached
from trunkline.control.sessions.importing import ImportQuery

WHO = ("ann", "bob", "orla", "zoe", "olaf", "ada")
RIGHTS: list[tuple[str, str, object, tuple[int, ...]]] = [
    ("GET", "/orgs/{org}/retention", None, (200, 200, 200, 404, 404, 200)),
    ("PUT", "/orgs/{org}/retention", {"days": 9}, (403, 403, 200, 404, 404, 200)),
    ("GET", "/sessions/{session}/retention", None, (200, 404, 200, 404, 404, 200)),
    ("PUT", "/sessions/{session}/retention", {"days": 8}, (200, 404, 200, 404, 404, 200)),
    ("GET", "/quotas?user_id={user}", None, (200, 404, 200, 404, 404, 200)),
    ("PATCH", "/users/{user}/quotas", {"agents": 7}, (403, 404, 200, 404, 404, 200)),
    ("PATCH", "/users/{admin}/quotas", {"agents": 0}, (404, 404, 403, 404, 404, 200)),
    ("GET", "/orgs/{org}/quotas", None, (200, 200, 200, 404, 404, 200)),
    ("PATCH", "/orgs/{org}/quotas", {"agents": 9}, (403, 403, 403, 404, 404, 200)),
    ("GET", "/sessions/{session}/export?format=markdown", None, (200, 404, 200, 404, 404, 200)),
]


async def test_everybody_has_their_own_rights(api: Api) -> None:
    people = api.people
    names = {"org": people.ann.org_id, "user": people.ann.user_id, "admin": people.ada.user_id}
    names["session"] = await new_session(api)
    for method, path, body, wanted in RIGHTS:
        options = {} if body is None else {"json": body}
        where = f"/api/v1{path.format(**names)}"
        found = [await api.send(getattr(people, one), method, where, **options) for one in WHO]
        assert tuple(one.status for one in found) == wanted, (method, path)


async def test_who_sends_slowly_is_in_nobody_elses_way(api: Api) -> None:
    more, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slowly() -> AsyncIterator[bytes]:
        begun.release()
        await more.wait()
        yield b"{}"

    def read(who: Principal) -> asyncio.Task[object]:
        return asyncio.create_task(api.core.importing.read(who, slowly(), ImportQuery()))

    people = api.people
    reading = [read(people.ann), read(people.ann)]
    for _ in reading:
        await begun.acquire()
    with pytest.raises(LimitReached):
        await read(people.ann)
    reading += [read(people.bob), read(people.zoe)]
    for _ in range(2):
        await begun.acquire()
    with pytest.raises(LimitReached):
        await read(people.ada)
    more.set()
    for one in await asyncio.gather(*reading, return_exceptions=True):
        assert isinstance(one, InvalidRequest)
    with pytest.raises(InvalidRequest):
        await read(people.ann)
