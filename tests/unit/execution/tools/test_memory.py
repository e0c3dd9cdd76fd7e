"""Long-term memory through the control plane, and without it."""

from typing import Any

import pytest

from tests.unit.execution.tools.support import Call, Control
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.tools.memory import MemorySearch, MemoryWrite, memories

FOUND = {"results": [{"content": "likes tea", "score": 0.9}, {"content": "lives in Kyoto"}]}


@pytest.mark.proves("004-4.8-long-term-through-the-line")
async def test_what_is_remembered_is_found(call: Call) -> None:
    control = Control(memory_search=FOUND)
    result = await call.run(MemorySearch(control), query="drinks", top_k=2)
    assert result.content == "- likes tea\n- lives in Kyoto"
    assert control.asked == [("memory_search", {"query": "drinks", "top_k": 2})]


@pytest.mark.parametrize("error", [ConnectionError("down"), TimeoutError()])
@pytest.mark.proves("004-10-long-term-memory")
async def test_without_the_line_the_result_is_empty_and_says_so(
    call: Call, error: Exception
) -> None:
    result = await call.run(MemorySearch(Control(memory_search=error)), query="drinks")
    assert not result.is_error
    assert "cannot be reached" in result.content
    assert result.details == {"degraded": True, "results": 0}


async def test_a_refusal_of_the_control_plane_is_an_error(call: Call) -> None:
    control = Control(memory_search=RequestFailed("INVALID_PARAMS", "query is too long"))
    with pytest.raises(ToolError, match="query is too long"):
        await call.run(MemorySearch(control), query="drinks")


@pytest.mark.parametrize("answer", [None, {}, {"results": 7}, [1], {"results": [{"content": 1}]}])
async def test_an_odd_answer_is_no_result(call: Call, answer: Any) -> None:
    result = await call.run(MemorySearch(Control(memory_search=answer)), query="drinks")
    assert result.content == "(nothing found)"


async def test_a_huge_answer_is_cut(call: Call) -> None:
    control = Control(memory_search={"results": [{"content": "x" * 100_000}] * 50})
    result = await call.run(MemorySearch(control), query="drinks")
    assert result.details["results"] == 5
    assert "left out" in result.content
    assert len(result.content) < 40_000


async def test_what_is_written_is_owed_to_the_control_plane_line_or_no_line(call: Call) -> None:
    control = Control()
    control.online = False
    result = await call.run(MemoryWrite(control), content="likes tea")
    assert not result.is_error
    metadata = {"session_id": "session-1", "source": "agent"}
    assert control.reported == [("memory_write", {"content": "likes tea", "metadata": metadata})]


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([0.5, 0.3, 0.29, 0.1], [0, 1]),
        ([0.142, 0.14, 0.08], [0, 1]),
        ([None, None], [0, 1]),
        ([0.4, None, "0.4", True, float("nan")], [0]),
        ([-0.1, 0.0], [1]),
        ([], []),
    ],
)
async def test_what_fits_much_less_well_than_the_best_is_not_told_unasked(
    scores: list[Any], told: list[int]
) -> None:
    results = [{"content": str(number), "score": one} for number, one in enumerate(scores)]
    found = await memories(Control(memory_search={"results": results}), "drinks", 9, 0.6)
    assert found == [str(number) for number in told]
    everything = await memories(Control(memory_search={"results": results}), "drinks", 9)
    assert len(everything) >= len(found)
