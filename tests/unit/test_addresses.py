"""Which addresses are public."""

import ipaddress

import pytest

from trunkline.addresses import is_public

PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "192.88.99.1", "203.0.113.7", "192.0.2.1", "198.51.100.1"),
    *("239.255.255.250", "fec0::1", "100::1", "64:ff9b:1::1", "3fff::1"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "fe80::1", "fc00::1"),
    *("fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_for_everyone_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
