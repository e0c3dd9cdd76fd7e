"""What people mean with an answer, in whichever words and shape."""

from typing import Any

import pytest

from trunkline.wire.answers import Answer, answer_of


@pytest.mark.parametrize("word", ["always", "Always!", " 总是 "])
def test_always_is_a_yes_for_good(word: str) -> None:
    assert answer_of(word, "approve") == Answer(True, scope="always")


def test_a_word_that_is_an_answer_in_itself_stays_one() -> None:
    assert answer_of("always", "input") == Answer(True, "always")


@pytest.mark.parametrize("scope", ["once", "session", "always"])
def test_an_object_says_for_how_long(scope: str) -> None:
    found = answer_of({"confirmed": True, "scope": scope, "reason": "fine"}, "approve")
    assert found == Answer(True, scope=scope, reason="fine")


@pytest.mark.parametrize("scope", ["forever", 7, None, ["always"], {"always": True}])
def test_a_scope_that_is_none_means_once(scope: Any) -> None:
    found = answer_of({"confirmed": True, "scope": scope, "reason": scope}, "approve")
    assert found is not None
    assert found.scope == "once"


@pytest.mark.parametrize(
    ("said", "confirmed"),
    [("Allow once", True), ("Reject", False), ("No, tell it why", False), ("拒绝并说明", False)],
)
def test_an_option_is_a_yes_unless_it_begins_with_a_no(said: str, confirmed: bool) -> None:
    options = ["Allow once", "Reject", "No, tell it why", "拒绝并说明"]
    assert answer_of(said, "approve", options) == Answer(confirmed, said)


def test_an_option_that_is_not_offered_is_no_answer() -> None:
    assert answer_of("Allow once", "approve") is None
    assert answer_of("Allow once", "approve", "Allow once") is None
