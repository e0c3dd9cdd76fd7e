"""What is not known on a wire is counted by kind, and logged once a kind."""

import pytest
from structlog.testing import capture_logs

from trunkline.control.surprises import HTTP, Surprises


def test_each_kind_is_counted_and_logged_once() -> None:
    surprises = Surprises()
    with capture_logs() as logs:
        for kind in ("message a", "message b", "message a"):
            surprises.saw("agp", kind)
    assert surprises.counts == {("agp", "message a"): 2, ("agp", "message b"): 1}
    assert [(one["wire"], one["kind"]) for one in logs] == [
        ("agp", "message a"),
        ("agp", "message b"),
    ]


def test_names_without_end_and_of_any_length_are_bounded() -> None:
    surprises = Surprises()
    for number in range(1000):
        surprises.saw("yeaft", f"message {number}" + "x" * 10_000 + "\n")
    assert len(surprises.counts) == 201
    assert surprises.counts["yeaft", "other"] == 800
    assert all(len(kind) <= 80 and kind.isprintable() for _, kind in surprises.counts)


def test_a_wire_that_is_full_leaves_the_others_their_room() -> None:
    surprises = Surprises()
    for number in range(1000):
        surprises.saw("agp", f"message {number}")
    surprises.saw("yeaft", "message new")
    assert surprises.counts["yeaft", "message new"] == 1


def test_messages_without_end_leave_fields_their_room_and_the_other_way_round() -> None:
    surprises = Surprises()
    for number in range(1000):
        surprises.saw("yeaft", f"field {number}")
    surprises.saw("yeaft", "message new")
    assert surprises.counts["yeaft", "message new"] == 1
    assert surprises.counts["yeaft", "other"] == 800


def test_routes_are_counted_apart_and_few_of_them() -> None:
    surprises = Surprises()
    for number in range(1000):
        surprises.saw(HTTP, f"route GET /api/{number}")
    assert len(surprises.counts) == 51
    assert surprises.counts[HTTP, "other"] == 950


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"a": 1, "b": {"c": 2}}', {"field b"}),
        (b'{"a": 1}', set()),
        ("[1]", set()),
        ("{", set()),
        ('{"\\ud800": 1}', set()),
        ("[" * 100_000, set()),
    ],
)
def test_fields_that_are_not_known_are_counted_whatever_the_text_is(
    text: str | bytes, seen: set[str]
) -> None:
    surprises = Surprises()
    surprises.saw_fields("agp", text, {"a"})
    assert {kind for _, kind in surprises.counts} == seen
