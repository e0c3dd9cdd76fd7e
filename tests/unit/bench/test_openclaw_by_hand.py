"""The peer of OpenClaw in the benchmark, against a scripted gateway."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from bench.node.openclaw_by_hand import OpenClawByHand
from bench.processes import StartError

from tests.support.scripted_openclaw import __name__ as SCRIPTED

ROOT = Path(__file__).parents[3]
ENV = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[OpenClawByHand]:
    program = (sys.executable, "-m", SCRIPTED)
    made = OpenClawByHand(program, "http://127.0.0.1:9/v1", "none", tmp_path, ENV)
    try:
        yield made
    finally:
        made.stop()


def test_each_turn_takes_until_its_first_word(by_hand: OpenClawByHand) -> None:
    for _ in range(2):
        assert 0 < by_hand.turn_ms("say hello") < 60_000


def test_a_turn_that_fails_is_no_measure(by_hand: OpenClawByHand) -> None:
    with pytest.raises(StartError, match="the run failed"):
        by_hand.turn_ms("fail it broke")


def test_a_turn_without_a_word_is_no_measure(by_hand: OpenClawByHand) -> None:
    with pytest.raises(StartError, match="no word came"):
        by_hand.turn_ms("skill /dev/null")


def test_nothing_of_ours_is_in_it_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    program = (sys.executable, "-m", SCRIPTED)
    before = set(psutil.Process().children(recursive=True))
    by_hand = OpenClawByHand(program, "http://127.0.0.1:9/v1", "none", tmp_path, ENV)
    settings = json.loads((tmp_path / "openclaw.json").read_text())
    assert list(settings["plugins"]["entries"]) == ["memory-core"]
    assert settings["mcp"]["servers"] == {}
    by_hand.stop()
    assert set(psutil.Process().children(recursive=True)) <= before


def test_a_gateway_that_does_not_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="did not come up"):
        OpenClawByHand(("false",), "http://127.0.0.1:9/v1", "none", tmp_path, ENV)
