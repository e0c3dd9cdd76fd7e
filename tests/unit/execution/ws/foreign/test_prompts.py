"""One message at work in each session, the rest in order."""

import pytest

from trunkline import limits
from trunkline.execution.ws.foreign.prompts import WIRE_PROMPTS_CHARS_MAX, Prompt, Prompts


def prompt(turn_id: str) -> Prompt:
    return Prompt(turn_id, {"message": turn_id})


def test_the_next_one_is_worked_on_when_the_first_has_its_end() -> None:
    prompts = Prompts()
    assert [prompts.add("s", prompt(one)) for one in "abc"] == [True, False, False]
    following = prompts.ended("s", "a")
    assert following is not None
    assert following.turn_id == "b"
    assert prompts.ended("s", None) == prompt("c")
    assert prompts.ended("s", "c") is None
    assert "s" not in prompts


def test_an_end_of_one_that_waits_takes_it_back_and_nothing_else() -> None:
    prompts = Prompts()
    for one in "abc":
        prompts.add("s", prompt(one))
    for one in "xb":
        assert prompts.ended("s", one) is None
    assert prompts.ended("other", "a") is None
    assert prompts.current("s") == prompt("a")
    assert prompts.ended("s", "a") == prompt("c")


def test_it_is_known_whether_anything_is_left_when_a_turn_ends() -> None:
    prompts = Prompts()
    assert not prompts.has_other("s", None)
    prompts.add("s", prompt("a"))
    assert not prompts.has_other("s", "a")
    assert not prompts.has_other("s", None)
    assert prompts.has_other("s", "refused")
    prompts.add("s", prompt("b"))
    assert prompts.has_other("s", "a")
    assert prompts.has_other("s", None)


def test_sessions_do_not_wait_for_each_other_and_what_waits_is_bounded() -> None:
    prompts = Prompts()
    for number in range(limits.SESSION_PROMPTS_MAX + 1):
        prompts.add("s", prompt(str(number)))
    with pytest.raises(OverflowError):
        prompts.add("s", prompt("one more"))
    assert prompts.add("other", prompt("a"))
    prompts.forget("s")
    assert prompts.current("s") is None


def test_what_all_sessions_wait_for_is_counted_and_bounded() -> None:
    prompts = Prompts()
    large = "x" * (WIRE_PROMPTS_CHARS_MAX // 2)
    file = {"name": "a", "mime": "b", "base64": large}
    prompts.add("s-1", Prompt("t-1", {"message": large}))
    prompts.add("s-1", Prompt("t-2", {"message": "", "metadata": {"attachments": [file]}}))
    prompts.add("s-2", Prompt("t-3", {"message": "small"}))
    assert prompts.count == 3
    with pytest.raises(OverflowError, match="too large"):
        prompts.add("s-3", Prompt("t-4", {"message": "one more"}))
    assert "s-3" not in prompts
    assert prompts.ended("s-1", "t-2") is None
    prompts.ended("s-1", "t-1")
    assert prompts.add("s-3", Prompt("t-4", {"message": "one more"}))
    prompts.forget("s-2")
    prompts.forget("s-3")
    assert prompts.count == 0
