"""What the control plane asks a machine is answered once, whatever the answer is."""

import asyncio
import json
from typing import Any

from tests.support.eventually import until
from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.line import knows_nothing
from trunkline.execution.ws import messages
from trunkline.execution.ws.queries import QUERIES_MAX, Queries
from trunkline.wire.semibot.messages import Query

Json = dict[str, Any]


def query(name: str, method: str = "m", **params: Any) -> Query:
    asked = {"type": "query", "id": name, "data": {"method": method, "params": params}}
    read = messages.read(json.dumps(asked))
    assert isinstance(read, Query)
    return read


class Sent(list[Json]):
    def __call__(self, frame: bytes) -> None:
        self.append(json.loads(frame))


async def test_a_question_is_answered_by_its_id() -> None:
    sent = Sent()
    queries = Queries(sent)

    async def answer(method: str, params: Json) -> Json:
        return {"method": method, **params}

    queries.take(query("q-1", "list", limit=5), answer)
    await until(lambda: sent)
    assert sent == [
        {
            "type": "query_result",
            "id": "q-1",
            "result": {"method": "list", "limit": 5},
            "error": None,
        }
    ]


async def test_what_goes_wrong_is_told_and_nothing_else_suffers() -> None:
    sent = Sent()
    queries = Queries(sent)
    queries.take(query("q-0"), knows_nothing)

    async def answer(method: str, params: Json) -> Json:
        if method == "refused":
            raise RequestFailed("NOT_HERE", "no such thing")
        if method == "large":
            return {"text": "x" * (limits.FRAME_BYTES_MAX + 1)}
        raise RuntimeError("a fault")

    await until(lambda: sent)
    for method in ("refused", "large", "broken"):
        queries.take(query(method, method), answer)
    await until(lambda: len(sent) == 4)
    codes = {one["id"]: one["error"]["code"] for one in sent}
    assert codes == {
        "q-0": "METHOD_NOT_FOUND",
        "refused": "NOT_HERE",
        "large": "RESULT_TOO_LARGE",
        "broken": "FAULT",
    }


async def test_too_many_at_once_are_refused_and_an_end_ends_all() -> None:
    sent = Sent()
    queries = Queries(sent)

    async def answer(method: str, params: Json) -> Json:
        await asyncio.Event().wait()
        return {}

    for number in range(QUERIES_MAX + 1):
        queries.take(query(f"q-{number}"), answer)
    [refused] = sent
    assert (refused["id"], refused["error"]["code"]) == (f"q-{QUERIES_MAX}", "BUSY")
    await queries.close()
    assert len(sent) == 1
