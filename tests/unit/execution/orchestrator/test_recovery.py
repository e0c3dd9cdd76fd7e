"""What a turn took, beside its checkpoint: the newest one counts, a foreign one does not."""

import math
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.orchestrator.recovery import SavedUsage, TurnUsage

CONFIG = RunnableConfig(configurable={"thread_id": "s1"})
FIRST = TurnUsage(worked_s=2.5, usage={"gpt": {"calls": 1, "tokens_in": 3}}, call_ids=["call_1"])
SECOND = TurnUsage(worked_s=2.5, usage={"gpt": {"calls": 2, "tokens_in": 9}}, call_ids=["call_2"])


@pytest.fixture
async def waiting(tmp_path: Path) -> RunnableConfig:
    """Where the graph stopped."""
    start = RunnableConfig(configurable={"thread_id": "s1", "checkpoint_ns": ""})
    return await LocalCheckpointer(tmp_path).aput(start, empty_checkpoint(), {}, {})


async def test_the_newest_tally_of_a_checkpoint_is_found_by_another_process(
    tmp_path: Path, waiting: RunnableConfig
) -> None:
    tallies = SavedUsage(LocalCheckpointer(tmp_path), CONFIG)
    assert await tallies.newest() == TurnUsage()
    for number, tally in enumerate((FIRST, SECOND) * 5):
        await tallies.keep(tally)
        newest = await SavedUsage(LocalCheckpointer(tmp_path), CONFIG).newest()
        assert newest == (SECOND if number else FIRST)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "tally",
        {"worked_s": -1},
        {"worked_s": math.nan},
        {"worked_s": "long"},
        {"usage": {"gpt": {"calls": -5}}},
        {"usage": {"gpt": 5}},
        {"usage": []},
        {"call_ids": "call_1"},
        {"call_ids": [1]},
    ],
)
async def test_a_tally_of_another_shape_is_passed_over(
    tmp_path: Path, waiting: RunnableConfig, value: Any
) -> None:
    checkpointer = LocalCheckpointer(tmp_path)
    tallies = SavedUsage(checkpointer, CONFIG)
    await tallies.keep(FIRST)
    await checkpointer.aput_writes(waiting, [("tally", value)], "another")
    assert await tallies.newest() == FIRST
