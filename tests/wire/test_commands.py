"""What a command takes in memory, however it is cut into parts."""

from typing import Any

import pytest

from trunkline.wire.commands import Command, Configure, Forward, Say, Start, size_of

KIB = 1024


def _say(**metadata: Any) -> Say:
    return Say("s", "t", "hello", [], metadata)


@pytest.mark.parametrize(
    "command",
    [
        _say(attachments=[{"name": "a", "mime": "b", "base64": "x" * 64 * KIB}]),
        _say(yeaft={"pad": ["x" * 32 * KIB, "y" * 32 * KIB]}),
        _say(yeaft={"x" * 64 * KIB: 1}),
        Say("s", "t", "x" * 64 * KIB, [], {}),
        Say("s", "t", "hi", [{"role": "user", "content": "x" * 64 * KIB}], {}),
        Forward("s", "yeaft", "x" * 64 * KIB),
        Configure("s", {"a": "x" * 64 * KIB}),
        Start("s", "r", {"a": "x" * 64 * KIB}, [], [], [], {}),
    ],
)
def test_a_command_counts_with_all_that_it_holds(command: Command) -> None:
    assert 64 * KIB <= size_of(command) < 68 * KIB


def test_deep_metadata_is_measured_too() -> None:
    deep: Any = "x" * KIB
    for _ in range(50_000):
        deep = [deep]
    assert size_of(deep) > 50_000 + KIB
