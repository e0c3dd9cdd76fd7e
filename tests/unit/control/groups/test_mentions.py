"""Who is meant in a group, in texts of every script and from clients of every kind."""

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.control.groups.mentions import addressed, choose, is_name, normal


class Named:
    def __init__(self, name: str) -> None:
        self.id = f"id-of-{name}"
        self.name = name


PERSONS = [Named(name) for name in ("alice", "bob", "张三", "bob-2", "José")]
EVERYONE = [one.name for one in PERSONS]


def chosen(text: str, picked: Any = None) -> list[str]:
    return [one.removeprefix("id-of-") for one in choose(text, picked, PERSONS).ids]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@alice look", ["alice"]),
        ("look, @bob!", ["bob"]),
        ("(@bob)", ["bob"]),
        ("@Alice and @BOB", ["alice", "bob"]),
        ("@bob @alice", ["alice", "bob"]),  # the group's order
        ("@alice帮我看下 bug", ["alice"]),
        ("请@张三看看", ["张三"]),
        ("请＠bob看看", ["bob"]),  # the wide sign of Chinese keyboards
        ("＠张三", ["张三"]),
        ("ann＠alice.example", EVERYONE),
        ("“@bob”,请 @张三你好", ["bob", "张三"]),
        ("josé@alice.example", EVERYONE),
        ("@bob-2", ["bob-2"]),
        ("@bob- see", ["bob"]),
        ("@bob-the-builder", EVERYONE),
        ("@alicexyz", EVERYONE),
        ("@jose\u0301", ["José"]),
        ("@all", EVERYONE),
        ("@ALL and @bob", EVERYONE),
        ("mail bob@alice.example", EVERYONE),
        ("@@bob", EVERYONE),
        ("", EVERYONE),
        ("nobody in particular", EVERYONE),
        ("@", EVERYONE),
    ],
)
def test_names_in_a_text_choose(text: str, names: list[str]) -> None:
    assert chosen(text) == names


@pytest.mark.parametrize(
    ("picked", "names"),
    [
        (["alice"], ["alice"]),
        (["@bob", " 张三 "], ["bob", "张三"]),
        (["id-of-bob"], ["bob"]),
        (["all"], EVERYONE),
        ([], EVERYONE),
        (None, EVERYONE),
        ("alice", EVERYONE),
        ({"alice": 1}, EVERYONE),
        ([None, 7, ["alice"], {"name": "alice"}, ""], EVERYONE),
        (["x" * 1_000_000], EVERYONE),
    ],
)
def test_names_that_a_client_picked_choose(picked: Any, names: list[str]) -> None:
    assert chosen("", picked) == names


def test_a_text_and_a_client_choose_together_and_unknown_names_are_told_once() -> None:
    found = choose("@bob @zed @zed", ["alice", "zed", "yan"], PERSONS)
    assert found.ids == ["id-of-alice", "id-of-bob"]
    assert found.unknown == ["zed", "yan"]


def test_an_answer_addresses_others_and_never_its_author() -> None:
    def names(text: str) -> list[str]:
        return [one.removeprefix("id-of-") for one in addressed(text, "id-of-bob", PERSONS)]

    assert names("thanks @alice, says @bob") == ["alice"]
    assert names("@property\ndef x(self): ...") == []
    assert names("nobody") == []
    assert names("@all") == ["alice", "张三", "bob-2", "José"]


@pytest.mark.parametrize("name", ["alice", "张三", "a-b_c", "é", "x" * 60, "7"])
def test_a_name_can_be_of_any_script(name: str) -> None:
    assert is_name(normal(name))


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", "a@b", "a\n", "x" * 61, "-", "__", "a\x00", "a.b", "😀", "a/b", "\u202e"],
)
def test_what_cannot_be_mentioned_is_no_name(name: str) -> None:
    assert not is_name(name)


@given(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_whatever_is_said_somebody_is_chosen_and_only_members(text: str, picked: Any) -> None:
    found = choose(text, picked, PERSONS)
    assert found.ids
    assert set(found.ids) <= {one.id for one in PERSONS}


@given(st.sampled_from(PERSONS), st.text(string.punctuation.replace("@", "") + " \n"))
def test_a_name_with_its_sign_is_always_found(person: Named, around: str) -> None:
    prefix = around.rstrip("._-")
    suffix = around.lstrip("_-")
    assert person.id in choose(f"{prefix} @{person.name}{suffix}", None, PERSONS).ids
