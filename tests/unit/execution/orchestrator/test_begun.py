"""What a turn has begun, on disk: a call that the last process began is known, whatever its id."""

from pathlib import Path

import pytest

from tests.support.small_files import files_up_to
from trunkline.execution.checkpoint.reserve import Reserve
from trunkline.execution.errors import TurnError
from trunkline.execution.orchestrator.begun import Begun


@pytest.mark.parametrize(
    "call_id", ["call_1", "", "a\nb", "a\rb", "a\u2028b", "\udc80", "?q", "x" * 2_000_000]
)
def test_a_call_of_the_last_process_is_known(tmp_path: Path, call_id: str) -> None:
    before = Begun(tmp_path)
    before.begin_turn()
    before.add(call_id, is_task=False)
    before.add("newest", is_task=False)
    before.ask("q-1")
    after = Begun(tmp_path)
    assert not after.is_of_last_process(call_id)
    after.take_up()
    assert [after.is_of_last_process(one) for one in (call_id, "newest", "b")] == [
        *(True, True, False)
    ]
    assert not after.is_task_of_last_process(call_id)
    assert after.asked() == ["q-1"]


def test_what_cannot_be_noted_is_not_begun(tmp_path: Path) -> None:
    begun = Begun(tmp_path, Reserve(tmp_path))
    with files_up_to(0), pytest.raises(TurnError) as refused:
        begun.add("call_1", is_task=False)
    assert refused.value.code == "DISK_FULL"
    begun.add("call_2", is_task=False)
    begun.take_up()
    assert [begun.is_of_last_process(f"call_{one}") for one in (1, 2)] == [False, True]


def test_a_new_turn_has_begun_nothing(tmp_path: Path) -> None:
    before = Begun(tmp_path)
    before.add("call_1", is_task=False)
    before.begin_turn()
    before.take_up()
    assert not before.is_of_last_process("call_1")
