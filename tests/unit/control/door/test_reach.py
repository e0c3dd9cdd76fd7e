"""Which address another machine is told, wherever the one who asks has come from."""

import ipaddress

import pytest

from trunkline.control.door.reach import Reach, own_addresses, reach
from trunkline.control.settings import Settings

FOUND = ["192.168.1.5", "10.0.0.7", "fd00::7"]


@pytest.mark.parametrize(
    ("host", "public", "asked", "expected"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8080", Reach(["http://127.0.0.1:8080"], "local")),
        ("localhost", None, "http://localhost:81", Reach(["http://localhost:81"], "local")),
        (
            "127.0.0.1",
            "https://trunk.example/t",
            "https://trunk.example/t",
            Reach(["https://trunk.example/t"], "named"),
        ),
        ("0.0.0.0", None, "http://10.1.1.1:8080", Reach(["http://10.1.1.1:8080"], "named")),
        (
            "0.0.0.0",
            None,
            "http://127.0.0.1:9999",
            Reach(
                ["http://192.168.1.5:8080", "http://10.0.0.7:8080", "http://[fd00::7]:8080"],
                "network",
            ),
        ),
        ("::1", None, "http://[::1]:8080", Reach(["http://[::1]:8080"], "local")),
        ("192.168.1.9", None, "http://localhost:1", Reach(["http://192.168.1.9:8080"], "network")),
    ],
)
def test_the_address_is_one_that_others_reach(
    host: str, public: str | None, asked: str, expected: Reach
) -> None:
    settings = Settings(host=host, public_url=public)
    assert reach(settings, asked, 8080, lambda: FOUND) == expected


def test_a_host_without_a_network_says_that_it_is_alone() -> None:
    assert reach(Settings(host="0.0.0.0"), "http://localhost:1", 1, list).kind == "local"


def test_the_addresses_of_this_host_are_addresses_that_others_may_use() -> None:
    assert not [one for one in own_addresses() if ipaddress.ip_address(one).is_loopback]
