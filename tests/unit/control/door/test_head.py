"""What the door takes from a request's head: the wire at `/` by its query (the contract, section
4), and where a request carries its person's secret."""

import pytest
from multidict import CIMultiDict

from trunkline.control.door.head import credentials_of, wire_of
from trunkline.control.errors import InvalidRequest
from trunkline.control.settings import Settings

COOKIE = "trunkline_session_8080"


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
    assert wire_of("/", query) == wire


def test_other_paths_are_what_they_are() -> None:
    assert wire_of("/ws/vm", {"guid": "g"}) == "/ws/vm"
    assert wire_of("/ws/myagent", {"type": "agent"}) == "/ws/myagent"
    assert wire_of("/ws/yeaft", {"type": "agent"}) == "/ws/yeaft?type=agent"


@pytest.mark.parametrize("query", [{}, {"type": "phone"}])
def test_a_yeaft_connection_says_what_it_is(query: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="agent or web"):
        wire_of("/ws/yeaft", query)


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({}, None),
        ({"Authorization": "Bearer tl_abc"}, "tl_abc"),
        ({"authorization": "bearer   tl_abc "}, "tl_abc"),
        ({"Authorization": "Bearer"}, None),
        ({"Authorization": "Bearer "}, None),
        ({"Authorization": ""}, None),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, None),
        ({"Cookie": f"{COOKIE}=tl_abc"}, "tl_abc"),
        ({"Cookie": f'a=b; {COOKIE}="tl_abc"; c=d'}, "tl_abc"),
        ({"Cookie": f"x{COOKIE}=tl_abc"}, None),
        ({"Cookie": f"{COOKIE}="}, None),
        ({"Cookie": ";;=;"}, None),
        ({"Authorization": "Bearer tl_one", "Cookie": f"{COOKIE}=tl_two"}, "tl_one"),
    ],
)
def test_the_secret_is_found(headers: dict[str, str], secret: str | None) -> None:
    assert credentials_of(CIMultiDict(headers), Settings()) == secret


def test_another_kind_of_authorization_is_not_served_as_the_cookies_person() -> None:
    headers = CIMultiDict({"Authorization": "Basic dXNlcjpwYXNz", "Cookie": f"{COOKIE}=tl_abc"})
    assert credentials_of(headers, Settings()) is None
