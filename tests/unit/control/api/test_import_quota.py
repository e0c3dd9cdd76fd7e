"""A file that would take more than its owner may store is refused before it takes anything."""

import random

from tests.unit.control.api.conftest import Api
from tests.unit.control.api.test_importing import file_of, imported, made


async def test_what_a_file_will_take_is_held_against_the_quota_before_it_is_written(
    api: Api,
) -> None:
    await api.schedule(api.people.ann)
    quotas = f"/users/{api.people.ann.user_id}/quotas"
    noise = random.Random(7)
    said = ({"type": "text_chunk", "content": noise.randbytes(5_000).hex()} for _ in range(40))
    data = file_of(*said)
    await api.call(api.people.ada, "PATCH", quotas, {"stored_bytes": 150_000})
    status, answer = await imported(api, data)
    assert (status, answer["error"]["code"]) == (429, "QUOTA_REACHED")
    assert "no room for a session of 2" in answer["error"]["message"]
    assert await api.core.segments.sizes() == {}
    await api.call(api.people.ada, "PATCH", quotas, {"stored_bytes": 450_000})
    await made(api, data)
    assert (await imported(api, data))[0] == 429, "a second one has no room beside it"
