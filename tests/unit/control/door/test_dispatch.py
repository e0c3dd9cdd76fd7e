"""The wire at `/` is known by its query (the contract, section 4)."""

import pytest

from trunkline.control.door.dispatch import path_of
from trunkline.control.errors import InvalidRequest


@pytest.mark.parametrize(
    ("query", "wire"),
    [
        ({}, "/ws/myagent"),
        ({"token": "tl_secret"}, "/ws/myagent"),
        ({"guid": "device_001", "user_id": "u", "token": "t"}, "/ws/agp"),
        ({"token": "dev_secret"}, "/ws/agp"),
        ({"type": "agent", "id": "a"}, "/ws/yeaft?type=agent"),
        ({"type": "web"}, "/ws/yeaft?type=web"),
        ({"type": "web", "guid": "g"}, "/ws/yeaft?type=web"),
        ({"type": "other"}, "/ws/myagent"),
    ],
)
def test_the_query_at_the_root_names_the_wire(query: dict[str, str], wire: str) -> None:
    assert path_of("/", query) == wire


def test_other_paths_are_what_they_are() -> None:
    assert path_of("/ws/vm", {"guid": "g"}) == "/ws/vm"
    assert path_of("/ws/myagent", {"type": "agent"}) == "/ws/myagent"
    assert path_of("/ws/yeaft", {"type": "agent"}) == "/ws/yeaft?type=agent"


@pytest.mark.parametrize("query", [{}, {"type": "phone"}])
def test_a_yeaft_connection_says_what_it_is(query: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="agent or web"):
        path_of("/ws/yeaft", query)
